//! `into: html`: a reply as a document of its own.

/// A document with the text as it stands, in type of one width.
pub(super) fn document(text: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <title>Edgemere</title>\n<style>body {{ background: #101418; color: #e8eaed; \
         font-family: ui-monospace, monospace; }}</style>\n</head>\n<body>\n<pre>{}</pre>\n\
         </body>\n</html>\n",
        escape(text)
    )
}

/// A text that stands for itself in HTML, also in an attribute.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_reply_is_text() {
        assert!(
            document("<script>alert('x')</script>").contains("&lt;script&gt;alert(&#39;x&#39;)")
        );
    }
}
