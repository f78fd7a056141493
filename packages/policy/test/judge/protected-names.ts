/** Control files of a project. */
export const ofProject: readonly string[] = `
  .git/hooks/pre-commit .git/config .git src/.git/config .husky/pre-commit .githooks/x .hg/hgrc .halting/settings.json
  .halting/settings.local.json .claude/settings.json .mcp.json .claude.json .cursor/mcp.json .codex/config.toml .gemini/settings.json
  .zed/settings.json opencode.json .windsurf/hooks.json .roo/mcp.json .continue/config.yaml .aider.conf.yml .kiro/settings/mcp.json
  .amazonq/mcp.json .clinerules/hooks/x .github/hooks/x.json .github/workflows/ci.yml .github/actions/a/action.yml .gitlab-ci.yml
  Jenkinsfile .circleci/x .devcontainer.json .devcontainer/devcontainer.json .vscode/tasks.json .idea/workspace.xml
  .helix/languages.toml .lfsconfig .gitattributes .gitmodules .gitconfig .pre-commit-config.yaml lefthook.yml .envrc .vimrc .exrc
  .nvim.lua .emacs .dir-locals.el .gdbinit .lldbinit .pdbrc .pryrc .Rprofile sitecustomize.py .yarn/releases/yarn-4.cjs
  .yarn/plugins/x.cjs .pnp.cjs .pnp.loader.mjs .pnpmfile.cjs .npmrc .yarnrc.yml .bashrc .zshenv .profile .inputrc .tmux.conf
  .screenrc .curlrc .wgetrc .mailcap .ssh/config .netrc packages/a/.npmrc packages/a/.vscode/settings.json mise.toml .tool-versions
  rust-toolchain.toml .cargo/config.toml .bazelrc .mvn/extensions.xml .bundle/config nuget.config .github .yarn
`
  .trim()
  .split(/\s+/)

const hidden: ReadonlySet<string> = new Set(
  ofProject.flatMap((name) => name.split('/').filter((part) => part.startsWith('.'))),
)

/** Whether a path has a hidden part that is one of these; programs use no other hidden files of a project as control files. */
export function isObeyed(path: string): boolean {
  return path.split('/').some((part) => hidden.has(part.toLowerCase()))
}
