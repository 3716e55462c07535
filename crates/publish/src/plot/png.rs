//! Plots as PNG, rendered from their SVG. The font is part of the program, because
//! a machine used for measuring may have none.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, Options, Tree, fontdb::Database};

use super::Plot;
use super::svg::SvgError;

/// Number of the picture's pixels per pixel of the plot, in each direction.
const ZOOM: f32 = 2.0;

/// Renders plots as PNG.
#[derive(Debug)]
pub struct Rasterizer {
    options: Options<'static>,
}

/// Reason why a plot could not be rendered.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The plot could not be drawn as SVG.
    #[error(transparent)]
    Svg(#[from] SvgError),
    /// resvg cannot parse the SVG.
    #[error("render {name}: {source}")]
    Parse {
        /// Name of the plot.
        name: String,
        /// The error of resvg.
        source: usvg::Error,
    },
    /// The picture is too large, or cannot be encoded.
    #[error("render {name}: {reason}")]
    Pixels {
        /// Name of the plot.
        name: String,
        /// The reason.
        reason: String,
    },
}

impl Rasterizer {
    /// Creates a rasterizer and reads its font.
    #[must_use]
    pub fn new() -> Self {
        let mut fonts = Database::new();
        for font in [dejavu::sans::regular(), dejavu::sans::bold()] {
            fonts.load_font_data(font.to_vec());
        }
        fonts.set_sans_serif_family("DejaVu Sans");
        let options = Options {
            fontdb: Arc::new(fonts),
            ..Options::default()
        };
        Self { options }
    }

    /// Renders the plot as PNG on white, with twice the pixels of its SVG in each
    /// direction.
    ///
    /// # Errors
    ///
    /// When the plot cannot be drawn or rendered.
    pub fn png(&self, plot: &Plot) -> Result<Vec<u8>, PngError> {
        let name = || plot.name.clone();
        let pixels = |reason: &str| PngError::Pixels {
            name: name(),
            reason: reason.to_owned(),
        };
        let svg = plot.to_svg()?;
        let tree = Tree::from_str(&svg, &self.options).map_err(|source| PngError::Parse {
            name: name(),
            source,
        })?;
        let size = tree.size().to_int_size().scale_by(ZOOM);
        let size = size.ok_or_else(|| pixels("it has no size"))?;
        let picture = Pixmap::new(size.width(), size.height());
        let mut picture = picture.ok_or_else(|| pixels("it is too large"))?;
        let zoom = Transform::from_scale(ZOOM, ZOOM);
        resvg::render(&tree, zoom, &mut picture.as_mut());
        let encoded = picture.encode_png();
        encoded.map_err(|error| pixels(&error.to_string()))
    }
}

impl Default for Rasterizer {
    fn default() -> Self {
        Self::new()
    }
}
