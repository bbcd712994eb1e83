//! A browser that a test drives: Debian's `chromium` through `chromium-driver` and the WebDriver protocol, spoken over a plain socket.

use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long the page may take for anything before the test gives up; a busy machine is slow.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running browser; it ends with the test.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

/// Starts chromedriver on a port that is free; `None` if another process takes that port of the other address family first.
fn start_driver() -> Option<(Child, u16)> {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("chromedriver starts; Debian has it as chromium-driver");
    let mut lines = BufReader::new(driver.stdout.take().expect("its output")).lines();
    let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
        line.split("successfully on port ").nth(1)?.trim_end_matches('.').trim().parse().ok()
    });
    match port {
        Some(port) => {
            thread::spawn(move || lines.for_each(drop));
            Some((driver, port))
        }
        None => {
            driver.wait().expect("chromedriver has ended");
            None
        }
    }
}

impl Browser {
    /// Starts a browser with a window of 1280 by 800.
    pub fn start() -> Browser {
        Browser::with_arguments(&[])
    }

    /// Starts a browser with further arguments.
    pub fn with_arguments(more: &[&str]) -> Browser {
        let (driver, port) = (0..5).find_map(|_| start_driver()).expect("chromedriver says its port");
        let mut browser = Browser { driver, port, session: String::new() };
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--force-device-scale-factor=1",
            "--window-size=1280,800",
            "--no-first-run",
            "--disable-extensions",
        ];
        let arguments: Vec<&str> = arguments.iter().chain(more).copied().collect();
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "acceptInsecureCerts": true,
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let opened = browser.send("POST", "/session", &capabilities);
        browser.session = opened["sessionId"].as_str().expect("a session").to_owned();
        browser
    }

    /// Opens an address.
    pub fn open(&self, url: &str) {
        self.call("POST", "url", &json!({"url": url}));
    }

    /// Runs a script, which returns a value.
    pub fn script(&self, script: &str) -> Value {
        self.call("POST", "execute/sync", &json!({"script": script, "args": []}))
    }

    /// Runs a script that passes its value to its last argument, and waits for that.
    pub fn script_that_waits(&self, script: &str) -> Value {
        self.call("POST", "execute/async", &json!({"script": script, "args": []}))
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn wait(&self, expression: &str) {
        let start = Instant::now();
        loop {
            if self.script(&format!("return Boolean({expression})")) == Value::Bool(true) {
                return;
            }
            if start.elapsed() > TIMEOUT {
                let text = self.script("return document.body.innerText");
                panic!("never true: {expression}\non the page: {}", text.as_str().unwrap_or_default());
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the page shows a text.
    #[track_caller]
    pub fn wait_for_text(&self, text: &str) {
        self.wait(&format!("document.body.innerText.includes({})", json!(text)));
    }

    /// Clicks the first element of a selector that is shown, as a mouse does.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        self.wait(&format!("document.querySelector({})", json!(selector)));
        let element = self.element(selector);
        self.call("POST", &format!("element/{element}/click"), &json!({}));
    }

    /// Clicks the first button, link or label with a text.
    #[track_caller]
    pub fn press(&self, text: &str) {
        let find = format!(
            "[...document.querySelectorAll('button, a, label, summary')].find((e) => e.innerText.trim() === {} && e.offsetParent)",
            json!(text)
        );
        self.wait(&find);
        self.script(&format!("({find}).click()"));
    }

    /// Types into an element, in place of what is there.
    #[track_caller]
    pub fn fill(&self, selector: &str, text: &str) {
        self.wait(&format!("document.querySelector({})", json!(selector)));
        let element = self.element(selector);
        self.call("POST", &format!("element/{element}/clear"), &json!({}));
        self.call("POST", &format!("element/{element}/value"), &json!({"text": text}));
    }

    /// Sets the value of an element as pasting does.
    #[track_caller]
    pub fn paste(&self, selector: &str, text: &str) {
        self.wait(&format!("document.querySelector({})", json!(selector)));
        self.script(&format!(
            "const e = document.querySelector({}); e.focus(); e.value = {}; e.dispatchEvent(new Event('input', {{bubbles: true}}))",
            json!(selector),
            json!(text)
        ));
    }

    /// Presses keys, at the current focus.
    pub fn keys(&self, keys: &[&str]) {
        let code = |key: &str| match key {
            "Tab" => "\u{E004}".to_owned(),
            "Enter" => "\u{E007}".to_owned(),
            "Escape" => "\u{E00C}".to_owned(),
            "Up" => "\u{E013}".to_owned(),
            "Down" => "\u{E015}".to_owned(),
            "Left" => "\u{E012}".to_owned(),
            "Right" => "\u{E014}".to_owned(),
            "Space" => " ".to_owned(),
            other => other.to_owned(),
        };
        let actions: Vec<Value> = keys
            .iter()
            .flat_map(|key| [("keyDown", code(key)), ("keyUp", code(key))])
            .map(|(kind, key)| json!({"type": kind, "value": key}))
            .collect();
        self.call(
            "POST",
            "actions",
            &json!({"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}),
        );
    }

    /// Presses Tab until the focus is on an element that matches a selector.
    #[track_caller]
    pub fn tab_to(&self, selector: &str) {
        for _ in 0..200 {
            if self.script(&format!("return document.activeElement?.matches({})", json!(selector)))
                == Value::Bool(true)
            {
                return;
            }
            self.keys(&["Tab"]);
        }
        panic!("Tab never reaches {selector}");
    }

    /// Changes the size of the page.
    pub fn resize(&self, width: u32, height: u32) {
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}),
        );
    }

    /// Chooses light or dark, and whether animations run.
    pub fn appearance(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]);
        self.devtools("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    fn devtools(&self, command: &str, parameters: Value) {
        self.call("POST", "goog/cdp/execute", &json!({"cmd": command, "params": parameters}));
    }

    /// Writes a picture of the page.
    pub fn picture(&self, file: &Path) {
        let encoded = self.call("GET", "screenshot", &Value::Null);
        let bytes = base64(encoded.as_str().expect("a picture"));
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, bytes).expect("the picture is written");
    }

    /// Returns the errors and warnings of the console since the last call: broken scripts, failed requests, violations of the content
    /// security policy. Requests that the page expects to fail are left out by their path.
    pub fn console(&self, expected: &[&str]) -> Vec<String> {
        let entries = self.call("POST", "se/log", &json!({"type": "browser"}));
        let entries = entries.as_array().cloned().unwrap_or_default().into_iter();
        let texts = entries
            .filter(|entry| entry["level"] == "SEVERE" || entry["level"] == "WARNING")
            .map(|entry| entry["message"].as_str().unwrap_or_default().to_owned());
        texts.filter(|text| !expected.iter().any(|part| text.contains(part))).collect()
    }

    fn element(&self, selector: &str) -> String {
        let found = self.call("POST", "element", &json!({"using": "css selector", "value": selector}));
        let id = found.as_object().and_then(|found| found.values().next()?.as_str().map(String::from));
        id.unwrap_or_else(|| panic!("no element {selector}: {found}"))
    }

    fn call(&self, method: &str, command: &str, body: &Value) -> Value {
        self.send(method, &format!("/session/{}/{command}", self.session), body)
    }

    #[track_caller]
    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the driver listens");
        stream.set_read_timeout(Some(3 * TIMEOUT)).expect("a timeout");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).expect("the driver reads");
        let mut reader = BufReader::new(stream);
        let (mut line, mut length) = (String::new(), None);
        loop {
            line.clear();
            reader.read_line(&mut line).expect("a header");
            let text = line.trim_end().to_ascii_lowercase();
            if text.is_empty() {
                break;
            }
            if let Some(value) = text.strip_prefix("content-length:") {
                length = value.trim().parse::<usize>().ok();
            }
        }
        let mut response = vec![0; length.expect("a length")];
        reader.read_exact(&mut response).expect("a response");
        let response: Value = serde_json::from_slice(&response).expect("JSON");
        let value = response["value"].clone();
        assert!(
            value["error"].is_null() || !value["stacktrace"].is_string(),
            "{path}: {}: {}",
            value["error"],
            value["message"]
        );
        value
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver ends its browser when the session ends.
        if !thread::panicking() && !self.session.is_empty() {
            self.send("DELETE", &format!("/session/{}", self.session), &Value::Null);
        }
        let _ = Command::new("kill").arg(self.driver.id().to_string()).status();
        let _ = self.driver.wait();
    }
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(digit).collect();
    digits
        .chunks(4)
        .flat_map(|chunk| {
            let bits = chunk.iter().fold(0_u32, |bits, digit| bits << 6 | u32::from(*digit))
                << (6 * (4 - chunk.len()));
            bits.to_be_bytes()[1..chunk.len()].to_vec()
        })
        .collect()
}
