//! A chart, rendered by the `helm` on the PATH.

use crate::{
    Error,
    document::{self, Document},
};
use clap::Args;
use std::{
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tenure_value::{Value, json};

/// The flags of a chart, as `helm` has them.
#[derive(Args, Clone, Debug, Default)]
pub struct ChartFlags {
    /// Render this chart with the `helm` on the PATH: a directory, an archive, or a reference that `helm template` takes.
    #[arg(long, value_name = "CHART", conflicts_with = "files")]
    pub chart: Option<PathBuf>,
    /// A file with values for the chart; may be repeated.
    #[arg(long, value_name = "FILE", requires = "chart")]
    values: Vec<PathBuf>,
    /// A value for the chart, such as image.tag=2; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", requires = "chart")]
    set: Vec<String>,
    /// Start from the values of the release, as `helm upgrade --reuse-values`.
    #[arg(long, requires = "chart")]
    reuse_values: bool,
}

impl ChartFlags {
    /// Renders the chart for a release; `config` are the values of its last revision.
    pub fn render(
        &self,
        chart: &Path,
        release: &str,
        namespace: &str,
        config: &Value,
    ) -> Result<Vec<Document>, Error> {
        let mut command = Command::new("helm");
        command.arg("template").arg(release).arg(chart).args(["--namespace", namespace, "--is-upgrade"]);
        if self.reuse_values {
            command.args(["--values", "-"]);
        }
        for file in &self.values {
            command.arg("--values").arg(file);
        }
        for value in &self.set {
            command.arg("--set").arg(value);
        }
        let failed = |source| Error::Read { path: chart.into(), source };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(Error::usage(
                    "--chart needs `helm` on the PATH; without it, pipe rendered objects in: helm template … | tenure helm check RELEASE -f -",
                ));
            }
            Err(error) => return Err(failed(error)),
        };
        if let Some(mut input) = child.stdin.take().filter(|_| self.reuse_values) {
            // A helm that ends without reading reports why.
            let _ = input.write_all(&json::to_vec(config));
        }
        let output = child.wait_with_output().map_err(failed)?;
        if !output.status.success() {
            return Err(failed(std::io::Error::other(
                String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            )));
        }
        document::parse(&output.stdout, chart)
    }
}
