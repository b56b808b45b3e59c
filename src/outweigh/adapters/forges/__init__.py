"""Where pull requests are opened: GitHub, GitLab, or nowhere but a pushed branch."""
