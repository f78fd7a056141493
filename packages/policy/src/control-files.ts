/**
 * What is run, or obeyed as settings, later and without a question: by git, shells, editors, agents, package managers, CI. One list for rules, which
 * ask before such a place is written to, and for the sandbox, which shuts it. `a/b` is a name in a folder of that name. Files that are instructions
 * (AGENTS.md) and sources that a person has run (Makefile) are not among them.
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

/** Of these the sandbox shuts what is obeyed alone: commands that people run write the rest of the folder. */
const partlyProtected: Readonly<Record<string, readonly string[]>> = {
  // Commands may commit: of a repository of git the sandbox knows more.
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

/** In the sandbox an empty folder stands where one of these is not, which whoever reads them passes over. */
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

/** The names by group, for whoever shows them. */
export const controlFileGroups: Readonly<Record<'folders' | 'files', Readonly<Record<string, string>>>> = {
  folders,
  files,
}

const folderNames: ReadonlySet<string> = new Set(namesIn(folders).map(folded))
const fileNames: ReadonlySet<string> = new Set(namesIn(files).map(folded))
/** Of names in a folder, the folders. */
const folderParts: ReadonlySet<string> = new Set(
  [...folderNames].flatMap((name) => (name.includes('/') ? (name.split('/')[0] ?? []) : [])),
)

/**
 * Where in a path, which is given by its names, something is that is obeyed later. A folder that holds such a one by its name alone, as `.github` does
 * workflows, counts where the path ends with it.
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
 * A name as any file system may take it: case, forms of letters and characters without width count for nothing on some, and a dot, a blank or a stream
 * at the end on others.
 */
function folded(name: string): string {
  const lower = name.toLowerCase()
  // Most are of these.
  if (/^[\w.@+-]*[\w@+-]$/.test(lower)) return lower
  return name
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .replace(/(?<=.)(?::.*|[. ]+)$/s, '')
}

/** `GIT~1`: Windows knows a folder by such a name, too, also from within WSL. What it stands for is not told. */
function isShortName(name: string): boolean {
  return name.includes('~') && /^[^.~]{1,6}~\d{1,2}(?:\.[^.]{0,3})?$/.test(name)
}
