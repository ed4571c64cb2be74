//! Folded stacks on standard input, an SVG on standard output: `flamegraph TITLE SUBTITLE COUNT`.
//!
//! A line is frames, root first, joined by `;`, a space and a count. With two counts widths are the second's; a
//! frame is red where it is more than the first, and blue where it is less.

use inferno::flamegraph::color::{BackgroundColor, BasicPalette, Palette};
use inferno::flamegraph::{from_reader, Direction, Options, TextTruncateDirection};
use std::io::{stdin, stdout, BufWriter, Write};
use std::process::ExitCode;

fn options(arguments: Vec<String>) -> Option<Options<'static>> {
    let [title, subtitle, count_name] = <[String; 3]>::try_from(arguments).ok()?;
    let mut options = Options::default();
    options.title = title;
    options.subtitle = Some(subtitle);
    options.count_name = count_name;
    options.colors = Palette::Basic(BasicPalette::Aqua);
    options.hash = true; // a function has the same colour in every picture
    options.bgcolors = Some(BackgroundColor::Flat((226, 230, 234).into()));
    options.direction = Direction::Inverted;
    options.text_truncate_direction = TextTruncateDirection::Right;
    Some(options)
}

fn main() -> ExitCode {
    let Some(mut options) = options(std::env::args().skip(1).collect()) else {
        eprintln!("usage: flamegraph TITLE SUBTITLE COUNT < FOLDED > SVG");
        return ExitCode::from(2);
    };
    let mut picture = BufWriter::new(stdout().lock());
    match from_reader(&mut options, stdin().lock(), &mut picture).and_then(|()| picture.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("flamegraph: {error}");
            ExitCode::FAILURE
        }
    }
}
