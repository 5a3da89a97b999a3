//! How Argo CD is reached: `ARGOCD_SERVER`, `ARGOCD_AUTH_TOKEN` and `ARGOCD_OPTS`, as Argo CD's own command line reads
//! them. Reads no environment: the texts are given.

use super::product::Registering;
use secrecy::{ExposeSecret, SecretString};
use std::path::PathBuf;

/// How Argo CD is reached. Neither the token nor the values of headers show in its debug form.
#[derive(Debug, Clone)]
pub struct ArgoCdSettings {
    /// `https://argocd.example.com:8443/root`, without a slash at its end.
    pub(super) base: String,
    pub(super) token: SecretString,
    /// The server's certificate is not checked.
    pub(super) insecure: bool,
    /// A file of certificates to trust, in PEM.
    pub(super) server_certificates: Option<PathBuf>,
    /// Further headers of every request.
    pub(super) headers: Vec<(String, SecretString)>,
    /// How clusters are registered.
    pub(super) registering: Registering,
}

/// What is wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(pub(super) String);

impl ArgoCdSettings {
    /// Reads `ARGOCD_SERVER` (`host[:port]`; a scheme and a path are taken too), `ARGOCD_AUTH_TOKEN` and `ARGOCD_OPTS`.
    /// An option beats its variable.
    pub fn parse(server: &str, token: &str, options: &str) -> Result<Self, SettingsError> {
        let options = Options::parse(options)?;
        let server = options.server.as_deref().unwrap_or(server).trim();
        let token = options.token.as_ref().map_or(token, |token| token.expose_secret()).trim();
        if token.is_empty() {
            return Err(error("ARGOCD_AUTH_TOKEN is empty"));
        }
        if !token.bytes().all(|letter| letter.is_ascii_graphic()) {
            return Err(error("ARGOCD_AUTH_TOKEN holds a space or a letter that no token has"));
        }
        Ok(Self {
            base: base(server, &options)?,
            token: SecretString::from(token),
            insecure: options.insecure,
            server_certificates: options.server_certificates,
            headers: options.headers,
            registering: Registering::default(),
        })
    }

    /// The same, with what settings say of how clusters are registered.
    #[must_use]
    pub fn registering(self, registering: Registering) -> Self {
        Self { registering, ..self }
    }

    /// The server's address, for people: `https://argocd.example.com`. It never holds a user or password.
    pub(crate) fn server(&self) -> &str {
        &self.base
    }
}

fn error(text: impl Into<String>) -> SettingsError {
    SettingsError(text.into())
}

/// Scheme, host, port and root path of the server.
fn base(server: &str, options: &Options) -> Result<String, SettingsError> {
    let (scheme, rest) = match server.split_once("://") {
        None => (if options.plaintext { "http" } else { "https" }, server),
        Some(("https", _)) if options.plaintext => {
            return Err(error("ARGOCD_SERVER says https, but ARGOCD_OPTS says --plaintext"));
        }
        Some((scheme @ ("http" | "https"), rest)) => (scheme, rest),
        Some((scheme, _)) => return Err(error(format!("ARGOCD_SERVER has the scheme {scheme}: only http and https are known"))),
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let fits = |letter: char| letter.is_ascii_alphanumeric() || ".-_:[]".contains(letter);
    if let Some((_, after)) = rest.rsplit_once('@') {
        // What stands before it may be a password: it is not repeated.
        return Err(error(format!("ARGOCD_SERVER is to be host[:port], without user and password, not `…@{after}`")));
    }
    if host.is_empty() || !host.chars().all(fits) {
        return Err(error(format!("ARGOCD_SERVER is to be host[:port], not `{host}`")));
    }
    let path = path.trim_matches('/');
    let root = match (path, options.root_path.as_deref().map(|root| root.trim_matches('/'))) {
        (path, None | Some("")) => path,
        ("", Some(root)) => root,
        (path, Some(root)) if path == root => root,
        (path, Some(root)) => {
            return Err(error(format!("ARGOCD_SERVER has the path /{path}, but --grpc-web-root-path says /{root}")));
        }
    };
    let separator = if root.is_empty() { "" } else { "/" };
    Ok(format!("{scheme}://{host}{separator}{root}"))
}

/// What `ARGOCD_OPTS` says.
#[derive(Debug, Default)]
struct Options {
    server: Option<String>,
    token: Option<SecretString>,
    plaintext: bool,
    insecure: bool,
    root_path: Option<String>,
    server_certificates: Option<PathBuf>,
    headers: Vec<(String, SecretString)>,
}

impl Options {
    fn parse(text: &str) -> Result<Self, SettingsError> {
        let mut options = Self::default();
        let mut words = words(text)?.into_iter();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (word, None),
            };
            if options.switch(&name, value.as_deref())? {
                continue;
            }
            if !Self::takes_value(&name) {
                return Err(unknown(&name));
            }
            let value = value.or_else(|| words.next());
            options.set(&name, value.ok_or_else(|| error(format!("ARGOCD_OPTS: {name} needs a value")))?)?;
        }
        Ok(options)
    }

    /// Options that stand alone; false if it is none of them.
    fn switch(&mut self, name: &str, value: Option<&str>) -> Result<bool, SettingsError> {
        let on = || match value {
            None | Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(other) => Err(error(format!("ARGOCD_OPTS: {name} is true or false, not `{other}`"))),
        };
        match name {
            "--plaintext" => self.plaintext = on()?,
            "--insecure" => self.insecure = on()?,
            // How the command line tunnels gRPC. The REST API needs no tunnel.
            // The same holds for questions, which are never asked here.
            "--grpc-web" | "--prompts-enabled" => drop(on()?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn takes_value(name: &str) -> bool {
        let means_something =
            matches!(name, "--auth-token" | "--grpc-web-root-path" | "--header" | "-H" | "--server" | "--server-crt");
        means_something || Self::is_ignored(name)
    }

    /// Options of Argo CD's command line that say nothing about the server: they are taken and do nothing.
    fn is_ignored(name: &str) -> bool {
        matches!(name, "--http-retry-max" | "--logformat" | "--loglevel" | "--config" | "--argocd-context")
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), SettingsError> {
        match name {
            "--server" => self.server = Some(value),
            "--auth-token" => self.token = Some(SecretString::from(value)),
            "--grpc-web-root-path" => self.root_path = Some(value),
            "--server-crt" => self.server_certificates = Some(value.into()),
            name if Self::is_ignored(name) => {}
            _ => self.headers.push(header(&value)?),
        }
        Ok(())
    }
}

fn unknown(name: &str) -> SettingsError {
    let known = "--plaintext, --insecure, --grpc-web, --grpc-web-root-path, --server-crt, --header, --server, --auth-token";
    error(format!("ARGOCD_OPTS: fleetctl does not know `{name}`; it knows {known}"))
}

/// `Name: value`.
fn header(text: &str) -> Result<(String, SecretString), SettingsError> {
    // The value may be a secret: it is not repeated.
    let wrong = || error("ARGOCD_OPTS: --header is to be `Name: value`");
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    let name = name.trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(wrong());
    }
    Ok((name.to_owned(), SecretString::from(value.trim())))
}

/// The words of a text, with quotes and backslashes as a shell has them.
fn words(text: &str) -> Result<Vec<String>, SettingsError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (Some(open), letter) if open == letter => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    if let Some(quote) = quote {
        return Err(error(format!("ARGOCD_OPTS: a {quote} is not closed")));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base_of(server: &str, options: &str) -> Result<String, SettingsError> {
        ArgoCdSettings::parse(server, "token", options).map(|settings| settings.base)
    }

    #[test]
    fn servers_are_read() {
        let rows = [
            ("argocd.example.com", "", "https://argocd.example.com"),
            ("argocd.example.com:8443", "", "https://argocd.example.com:8443"),
            ("https://argocd.example.com/", "", "https://argocd.example.com"),
            ("http://localhost:8080", "", "http://localhost:8080"),
            ("localhost:8080", "--plaintext", "http://localhost:8080"),
            ("localhost:8080", "--plaintext=false", "https://localhost:8080"),
            ("http://localhost", "--plaintext", "http://localhost"),
            ("[::1]:8080", "--plaintext", "http://[::1]:8080"),
            ("argocd.example.com/argo/", "", "https://argocd.example.com/argo"),
            ("argocd.example.com", "--grpc-web-root-path /argo/cd", "https://argocd.example.com/argo/cd"),
            ("argocd.example.com/argo", "--grpc-web-root-path=/argo", "https://argocd.example.com/argo"),
            ("ignored", "--server other:1 --plaintext", "http://other:1"),
        ];
        for (server, options, expected) in rows {
            assert_eq!(base_of(server, options).as_deref(), Ok(expected), "{server} {options}");
        }
    }

    #[test]
    fn faults_are_named() {
        let rows = [
            ("", "", "host[:port]"),
            ("a b", "", "`a b`"),
            ("user:hidden@host", "", "`…@host`"),
            ("grpc://host", "", "scheme grpc"),
            ("https://host", "--plaintext", "--plaintext"),
            ("host/a", "--grpc-web-root-path b", "/b"),
            ("host", "--core", "`--core`"),
            ("host", "--client-crt a.pem", "`--client-crt`"),
            ("host", "--server-crt", "needs a value"),
            ("host", "--insecure=maybe", "`maybe`"),
            ("host", "-H 'X y'", "Name: value"),
            ("host", "-H 'X: y", "not closed"),
            ("host", "plaintext", "`plaintext`"),
        ];
        for (server, options, part) in rows {
            let error = base_of(server, options).unwrap_err();
            assert!(error.to_string().contains(part), "{server} {options}: {error}");
        }
    }

    #[test]
    fn options_are_read_like_a_shell_does() {
        let options = "--insecure --grpc-web --loglevel debug --http-retry-max=3 --server-crt '/etc/my certs/ca.pem' -H \"X-Auth: a b\" --header=Y:\\ c";
        let settings = ArgoCdSettings::parse("host", " token\n", options).unwrap();
        assert!(settings.insecure);
        assert_eq!(settings.server_certificates, Some("/etc/my certs/ca.pem".into()));
        let headers: Vec<_> =
            settings.headers.iter().map(|(name, value)| (name.as_str(), value.expose_secret().to_owned())).collect();
        assert_eq!(headers, [("X-Auth", "a b".to_owned()), ("Y", "c".to_owned())]);
        assert_eq!(settings.token.expose_secret(), "token");
    }

    #[test]
    fn tokens_are_checked_and_never_shown() {
        assert!(ArgoCdSettings::parse("host", "", "").is_err());
        let error = ArgoCdSettings::parse("host", "very secret", "").unwrap_err();
        assert!(!error.to_string().contains("secret "), "{error}");
        let settings = ArgoCdSettings::parse("host", "very-secret", "-H 'X: hidden'").unwrap();
        let shown = format!("{settings:?}");
        assert!(!shown.contains("very-secret") && !shown.contains("hidden"), "{shown}");
        let settings = ArgoCdSettings::parse("host", "a", "--auth-token b").unwrap();
        assert_eq!(settings.token.expose_secret(), "b");
    }
}
