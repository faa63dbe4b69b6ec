//! Pictures: that clients can show them, and need to ask no stranger but one over HTTPS.

use mcp_serve::{Icon, Theme};

use super::Checking;
use crate::file::form::{IconForm, ThemeForm};

/// The pictures below a JSON pointer.
pub(super) fn icons(checking: &mut Checking<'_>, pointer: &str, forms: &[IconForm]) -> Vec<Icon> {
    let icons = forms.iter().enumerate();
    icons.map(|(index, form)| icon(checking, &format!("{pointer}/icons/{index}"), form)).collect()
}

fn icon(checking: &mut Checking<'_>, pointer: &str, form: &IconForm) -> Icon {
    if !form.src.starts_with("https://") && !form.src.starts_with("data:image/") {
        let message = "clients show no picture from there";
        let hint = "write an address as https://… or data:image/png;base64,…".to_owned();
        checking.wrong(&format!("{pointer}/src"), message, Some(hint));
    } else if let Some(illegal) = form.src.chars().find(|c| !is_of_address(*c)) {
        let message = format!("an address cannot have {illegal:?} in it");
        let hint = "write it in percent signs: %20 is a space".to_owned();
        checking.wrong(&format!("{pointer}/src"), message, Some(hint));
    }
    for (index, size) in form.sizes.iter().enumerate() {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let is_size = |(width, height)| is_number(width) && is_number(height);
        if size != "any" && !size.split_once('x').is_some_and(is_size) {
            let hint = Some("write \"48x48\" or \"any\"".to_owned());
            let message = format!("\"{size}\" is not a size");
            checking.wrong(&format!("{pointer}/sizes/{index}"), message, hint);
        }
    }
    Icon {
        src: form.src.clone(),
        mime_type: form.mime_type.clone(),
        sizes: form.sizes.clone(),
        theme: form.theme.map(|theme| match theme {
            ThemeForm::Light => Theme::Light,
            ThemeForm::Dark => Theme::Dark,
        }),
    }
}

/// Whether a character may stand in a URI as it is.
fn is_of_address(c: char) -> bool {
    c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c)
}
