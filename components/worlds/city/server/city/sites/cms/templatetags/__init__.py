"""Tags for the site's templates."""
