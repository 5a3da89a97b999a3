//! Listings that come in pages.

use super::error::CallError;

/// All pages of a listing. `read` reads the page after a token (IAM: marker) and gives its items with the next token.
pub async fn pages<T, F, R>(read: F) -> Result<Vec<T>, CallError>
where
    F: Fn(Option<String>) -> R,
    R: Future<Output = Result<(Vec<T>, Option<String>), CallError>>,
{
    let mut all = Vec::new();
    let mut token = None;
    loop {
        let (mut page, next) = read(token).await?;
        all.append(&mut page);
        match next {
            // An empty token means the end, as a missing one does.
            Some(next) if !next.is_empty() => token = Some(next),
            _ => return Ok(all),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pages_are_read_to_the_end() {
        let all = pages(|token| async move {
            match token.as_deref() {
                None => Ok((vec![1, 2], Some("next".to_owned()))),
                Some("next") => Ok((vec![3], Some(String::new()))),
                Some(other) => panic!("{other}"),
            }
        })
        .await;
        assert_eq!(all, Ok(vec![1, 2, 3]));
    }
}
