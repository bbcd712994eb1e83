//! `/livez`, `/readyz` and `/healthz`: whether the server runs, and whether it can take writes.

use super::{Query, Response};
use hyper::StatusCode;

/// A health check.
pub struct Check {
    /// The name by which it can be requested alone or excluded.
    pub name: &'static str,
    /// The error, if the check failed.
    pub fault: Option<String>,
}

/// Responds to a health path, such as `/readyz` or `/readyz/store`; `None` if there is no such check.
pub fn answer(path: &str, query: &Query, checks: &[Check]) -> Option<Response> {
    let (endpoint, one) =
        path.trim_start_matches('/').split_once('/').unwrap_or((path.trim_start_matches('/'), ""));
    if !one.is_empty() {
        let check = checks.iter().find(|check| check.name == one)?;
        return Some(match &check.fault {
            None => Response::text(StatusCode::OK, "ok"),
            Some(fault) => {
                Response::text(StatusCode::INTERNAL_SERVER_ERROR, format!("internal server error: {fault}\n"))
            }
        });
    }
    let mut lines = String::new();
    let mut failed = false;
    for check in checks {
        let excluded = query.all("exclude").any(|name| name == check.name);
        lines += &match &check.fault {
            _ if excluded => format!("[+]{} excluded: ok\n", check.name),
            None => format!("[+]{} ok\n", check.name),
            Some(fault) => format!("[-]{} failed: {fault}\n", check.name),
        };
        failed |= check.fault.is_some() && !excluded;
    }
    Some(match (failed, query.get("verbose").is_some()) {
        (false, false) => Response::text(StatusCode::OK, "ok"),
        (false, true) => Response::text(StatusCode::OK, format!("{lines}{endpoint} check passed\n")),
        (true, _) => {
            Response::text(StatusCode::INTERNAL_SERVER_ERROR, format!("{lines}{endpoint} check failed\n"))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ResponseBody;

    fn ask(path: &str, query: &str, fault: Option<&str>) -> Option<(u16, String)> {
        let checks =
            [Check { name: "ping", fault: None }, Check { name: "store", fault: fault.map(String::from) }];
        let answer = answer(path, &Query::parse(query).unwrap(), &checks)?;
        let ResponseBody::Whole(body) = answer.body else { panic!("health responses have a complete body") };
        Some((answer.code.as_u16(), String::from_utf8(body.to_vec()).unwrap()))
    }

    #[test]
    fn excluded_checks_do_not_fail() {
        assert_eq!(ask("/readyz", "", None), Some((200, "ok".into())));
        assert_eq!(ask("/readyz/store", "", None), Some((200, "ok".into())));
        assert_eq!(ask("/readyz/nope", "", None), None);
        let (code, text) = ask("/readyz", "", Some("disk full")).unwrap();
        assert_eq!(
            (code, text.as_str()),
            (500, "[+]ping ok\n[-]store failed: disk full\nreadyz check failed\n")
        );
        assert_eq!(ask("/livez", "exclude=store", Some("disk full")), Some((200, "ok".into())));
        let (_, text) = ask("/livez", "verbose", None).unwrap();
        assert_eq!(text, "[+]ping ok\n[+]store ok\nlivez check passed\n");
    }
}
