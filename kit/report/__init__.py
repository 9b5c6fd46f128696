"""Plans and checks for people (rich) and for programs (JSON)."""
