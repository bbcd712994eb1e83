//! The uses of tokens in secrets, on their way to the one who records them.

use std::{sync::Arc, time::Duration};
use tenure_value::Text;
use tokio::{
    sync::{Mutex, mpsc, oneshot},
    time::timeout,
};

/// How many uses wait.
const WAITING: usize = 64;
/// How long a request waits until the use of its token is recorded.
const RECORDING_TIME: Duration = Duration::from_secs(2);

/// A use of a token that has not been recorded on the day.
pub struct TokenUse {
    /// The namespace of the secret.
    pub namespace: Text,
    /// The name of the secret.
    pub secret: Text,
    /// The day, as in `2026-01-31`.
    pub day: Text,
    /// Is dropped when the use is recorded, or cannot be.
    recorded: oneshot::Sender<()>,
}

impl TokenUse {
    /// Lets the request go on.
    pub fn done(self) {
        // The request may have gone.
        let _ = self.recorded.send(());
    }
}

/// Takes uses of tokens in secrets to the one who records them.
#[derive(Clone)]
pub struct TokenUses {
    sender: mpsc::Sender<TokenUse>,
    receiver: Arc<Mutex<mpsc::Receiver<TokenUse>>>,
}

impl Default for TokenUses {
    fn default() -> TokenUses {
        let (sender, receiver) = mpsc::channel(WAITING);
        TokenUses { sender, receiver: Arc::new(Mutex::new(receiver)) }
    }
}

impl TokenUses {
    /// Waits until a use is recorded; a server that cannot keep up or write lets it go.
    pub async fn record(&self, namespace: Text, secret: Text, day: Text) {
        let (recorded, done) = oneshot::channel();
        if self.sender.try_send(TokenUse { namespace, secret, day, recorded }).is_ok() {
            let _ = timeout(RECORDING_TIME, done).await;
        }
    }

    /// Returns the next use.
    pub async fn next(&self) -> Option<TokenUse> {
        self.receiver.lock().await.recv().await
    }
}
