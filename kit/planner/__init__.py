"""From manifest, facts and card to a plan, or to what would fit."""
