/**
 * Control files: files that git, shells, editors, agents, package managers and CI later run or read as settings without asking. Rules ask before
 * such a file is written, and the sandbox protects it. `a/b` is a name in a folder of that name. Instructions (AGENTS.md) and sources that a person
 * runs (Makefile) are not included.
 */
const folders = {
  'version control': '.git .hg .jj .sl .svn .bzr .githooks .husky .lefthook .overcommit',
  agents:
    '.halting .claude .codex .gemini .cursor .windsurf .continue .roo .kilocode .kiro .amazonq .qwen .opencode .crush .trae .junie .augment ' +
    '.factory .amp .goose .clinerules/hooks .github/hooks',
  editors: '.vscode .idea .zed .fleet .helix .nova .emacs.d .devcontainer .codesandbox',
  'keys and accounts': '.ssh .gnupg .aws .kube .docker',
  packages: '.cargo .bundle .mvn .mise .yarn/releases .yarn/plugins .yarn/sdks',
  CI:
    '.github/workflows .github/actions .gitea/workflows .forgejo/workflows .circleci .buildkite .semaphore .teamcity .woodpecker .azure-pipelines ' +
    '.builds',
} as const

const files = {
  'version control':
    '.gitconfig .gitmodules .gitattributes .lfsconfig .pre-commit-config.yaml .pre-commit-config.yml .overcommit.yml lefthook.yml lefthook.yaml ' +
    'lefthook.toml lefthook.json .lefthook.yml .lefthook.yaml .lefthook.toml .lefthook.json lefthook-local.yml .lefthook-local.yml ' +
    '.simple-git-hooks.json simple-git-hooks.json .simple-git-hooks.cjs .simple-git-hooks.js',
  agents:
    '.mcp.json .claude.json opencode.json opencode.jsonc .opencode.json .opencode.jsonc crush.json .crush.json .aider.conf.yml ' +
    '.aider.conf.yaml',
  editors:
    '.vimrc _vimrc .gvimrc _gvimrc .exrc _exrc .nvimrc .nvim.lua .ideavimrc .emacs .emacs.el .spacemacs .dir-locals.el .dir-locals-2.el ' +
    '.devcontainer.json .gitpod.yml .gitpod.yaml .replit .lessfilter .lesskey',
  'keys and accounts': '.netrc .pypirc',
  shells:
    '.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .inputrc .cshrc .tcshrc ' +
    '.login .logout .kshrc .mkshrc .shrc .xinitrc .xsession .xsessionrc .xprofile .pam_environment .envrc .autoenv .screenrc .tmux.conf ' +
    '.mailcap .curlrc .wgetrc .ripgreprc profile.ps1 Microsoft.PowerShell_profile.ps1',
  'debuggers and interpreters':
    '.gdbinit .gdbearlyinit .lldbinit .radare2rc .pdbrc .pdbrc.py .pythonrc .pythonrc.py .pystartup sitecustomize.py usercustomize.py .irbrc ' +
    '.pryrc .rdbgrc .byebugrc .Rprofile .Renviron .iex.exs .ghci .ocamlinit .juliarc.jl .octaverc .perldb .sqliterc .psqlrc .my.cnf ' +
    '.mongorc.js .mongoshrc.js',
  packages:
    '.npmrc .yarnrc .yarnrc.yml .pnp.cjs .pnp.js .pnp.loader.mjs .pnpmfile.cjs .pnpmfile.mjs pip.conf pip.ini .condarc bunfig.toml .gemrc ' +
    'nuget.config .sbtopts .jvmopts .bazelrc .bazeliskrc .terraformrc terraform.rc rust-toolchain rust-toolchain.toml .prototools .tool-versions ' +
    'mise.toml .mise.toml mise.local.toml .mise.local.toml .rtx.toml',
  CI:
    '.gitlab-ci.yml .travis.yml Jenkinsfile azure-pipelines.yml azure-pipelines.yaml bitbucket-pipelines.yml .drone.yml .drone.star ' +
    '.woodpecker.yml .woodpecker.yaml .cirrus.yml .cirrus.star appveyor.yml .appveyor.yml cloudbuild.yaml cloudbuild.yml buildspec.yml .build.yml',
} as const

/** In these folders the sandbox protects only the control files, because commands that people run write the other files in them. */
const partlyProtected: Readonly<Record<string, readonly string[]>> = {
  // Commands may commit. The sandbox has separate protection for git repositories.
  '.git': [],
  '.hg': ['.hg/hgrc'],
  '.jj': ['.jj/repo/config.toml'],
  '.sl': ['.sl/config'],
  '.svn': [],
  '.bzr': ['.bzr/branch/branch.conf'],
  '.aws': ['.aws/config'],
  '.kube': [],
  '.gnupg': [],
  '.docker': ['.docker/config.json'],
  '.cargo': ['.cargo/config', '.cargo/config.toml'],
  '.bundle': ['.bundle/config'],
}

/** If one of these names does not exist, the sandbox puts an empty folder in its place. Programs that read such files ignore it. */
export const neverMadeInSandbox: readonly string[] = [
  '.git',
  '.halting',
  '.claude',
  '.mcp.json',
  '.vscode',
  '.idea',
  '.husky',
  '.envrc',
  '.github/workflows',
  '.gitlab-ci.yml',
]

function namesIn(groups: Readonly<Record<string, string>>): readonly string[] {
  return Object.values(groups).flatMap((names) => names.split(' '))
}

/** Read-only in the sandbox, below a folder that commands can write. */
export const readOnlyInSandbox: readonly string[] = [...namesIn(folders), ...namesIn(files)].flatMap(
  (name) => partlyProtected[name] ?? [name],
)

/** The names by group, for display. */
export const controlFileGroups: Readonly<Record<'folders' | 'files', Readonly<Record<string, string>>>> = {
  folders,
  files,
}

const folderNames: ReadonlySet<string> = new Set(namesIn(folders).map(folded))
const fileNames: ReadonlySet<string> = new Set(namesIn(files).map(folded))
/** The folders of names such as `a/b`. */
const folderParts: ReadonlySet<string> = new Set(
  [...folderNames].flatMap((name) => (name.includes('/') ? (name.split('/')[0] ?? []) : [])),
)

/**
 * The indexes in a path of the names that are control files. A folder that only contains control files, such as
 * `.github`, counts if the path ends with it.
 */
export function controlFileIndexes(names: readonly string[]): readonly number[] {
  const last = names.length - 1
  let above = ''
  const found: number[] = []
  for (const [at, given] of names.entries()) {
    const name = folded(given)
    const isObeyed =
      folderNames.has(name) ||
      (folderParts.has(above) && folderNames.has(`${above}/${name}`)) ||
      (at === last && (fileNames.has(name) || folderParts.has(name))) ||
      isShortName(name)
    if (isObeyed) found.push(at)
    above = name
  }
  return found
}

/**
 * A canonical form of a name for any file system: some ignore case, Unicode form and invisible characters, others a dot, a space or a stream at the
 * end.
 */
function folded(name: string): string {
  const lower = name.toLowerCase()
  // Fast path: most names need no folding beyond lower case.
  if (/^[\w.@+-]*[\w@+-]$/.test(lower)) return lower
  return name
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .replace(/(?<=.)(?::.*|[. ]+)$/s, '')
}

/** `GIT~1`: Windows, and WSL, also accept such a short name. It does not reveal the full name. */
function isShortName(name: string): boolean {
  return name.includes('~') && /^[^.~]{1,6}~\d{1,2}(?:\.[^.]{0,3})?$/.test(name)
}
