//! `tenure completions`: scripts for shells that ask `tenure __complete` what could come next, and the program with which `kubectl`
//! asks the same for its plugin.

use crate::{Error, Outcome, help, terminal::Terminal};
use clap::{Args, ValueEnum};

/// Print shell completions, which know the kinds, names, namespaces, contexts, managers and fields of the server.
#[derive(Args)]
#[command(after_help = "\
For `kubectl tenure`, with the program installed as kubectl-tenure, put the script of `kubectl` on the PATH as kubectl_complete-tenure.

Examples:
  source <(tenure completions bash)
  tenure completions zsh > \"${fpath[1]}/_tenure\"
  tenure completions fish > ~/.config/fish/completions/tenure.fish
  tenure completions kubectl > /usr/local/bin/kubectl_complete-tenure
  chmod +x /usr/local/bin/kubectl_complete-tenure")]
pub struct Options {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// What asks for completions.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    /// Bash.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
    /// `kubectl`, for its plugin.
    Kubectl,
    /// PowerShell; commands and flags only.
    Powershell,
    /// Elvish; commands and flags only.
    Elvish,
}

const BASH: &str = r#"_tenure() {
    local out directive candidate word=${COMP_WORDS[COMP_CWORD]} quote=
    # In open quotes nothing else is quoted.
    case $word in [\"\']*) quote=${word:0:1} word=${word:1} ;; esac
    out=$(tenure __complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$word" 2>/dev/null) || return
    directive=${out##*:}
    COMPREPLY=()
    while IFS= read -r candidate; do
        [ -n "$candidate" ] || continue
        [ -n "$quote" ] || printf -v candidate %q "$candidate"
        COMPREPLY+=("$candidate")
    done <<<"${out%:*}"
    case $directive in
        0) compopt -o default ;;
        6) compopt -o nospace ;;
    esac
}
# Colons and equals signs are parts of words.
COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}
COMP_WORDBREAKS=${COMP_WORDBREAKS//=/}
complete -F _tenure tenure
"#;

const ZSH: &str = r#"#compdef tenure
_tenure() {
    local -a lines
    local directive
    lines=("${(@f)$(tenure __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    directive=${lines[-1]#:}
    lines[-1]=()
    case $directive in
        0) compadd -a lines; _files ;;
        6) compadd -S '' -a lines ;;
        *) compadd -a lines ;;
    esac
}
if [ "$funcstack[1]" = "_tenure" ]; then _tenure; else compdef _tenure tenure; fi
"#;

const FISH: &str = r#"function __tenure_complete
    set -l words (commandline -opc)
    set -l out (tenure __complete $words[2..-1] (commandline -ct) 2>/dev/null)
    string match -v -r '^:[0-9]+$' -- $out
    if test "$out[-1]" = :0
        __fish_complete_path (commandline -ct)
    end
end
complete -c tenure -f -a '(__tenure_complete)'
"#;

const KUBECTL: &str = r#"#!/bin/sh
exec kubectl-tenure __complete "$@"
"#;

/// Prints the script.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let known = |shell: clap_complete::Shell| {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut help::command(), "tenure", &mut script);
        script
    };
    terminal.print(match options.shell {
        Shell::Bash => BASH.into(),
        Shell::Zsh => ZSH.into(),
        Shell::Fish => FISH.into(),
        Shell::Kubectl => KUBECTL.into(),
        Shell::Powershell => known(clap_complete::Shell::PowerShell),
        Shell::Elvish => known(clap_complete::Shell::Elvish),
    })?;
    Ok(Outcome::Done)
}
