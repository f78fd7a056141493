/**
 * Synonymous phrases of a program, most of them documented aliases. Each group is `one|other|…`, without the program name. A phrase may have
 * options: `apply -destroy` is `destroy`.
 */
const phrases: Readonly<Record<string, readonly string[]>> = {
  git: [
    'add|stage',
    'init|init-db',
    'blame|annotate|pickaxe',
    'fsck|fsck-objects',
    'push|send-pack|http-push|subtree push|lfs push',
    'fetch|fetch-pack|http-fetch',
    'stash push|stash save',
    'remote remove|remote rm',
    'remote rename|remote mv',
  ],
  npm: [
    'install|i|add|in|ins|inst|insta|instal|isnt|isnta|isntal|isntall',
    'ci|ic|clean-install|install-clean|isntall-clean',
    'install-test|it',
    'install-ci-test|cit|clean-install-test|sit',
    'uninstall|un|unlink|remove|rm|r',
    'update|u|up|upgrade|udpate',
    'run|run-script|rum|urn',
    'exec|x',
    'test|t|tst|run test',
    'start|run start',
    'stop|run stop',
    'restart|run restart',
    'init|create|innit',
    'view|v|info|show',
    'ls|list',
    'll|la',
    'link|ln',
    'search|s|se|find',
    'rebuild|rb',
    'config|c',
    'config set|set',
    'config get|get',
    'dedupe|ddp',
    'explain|why',
    'version|verison',
    'dist-tag|dist-tags',
    'owner|author',
    'docs|home',
    'bugs|issues',
    'adduser|add-user',
    'org|ogr',
  ],
  pnpm: [
    'install|i',
    'remove|rm|uninstall|un|uni|r',
    'update|up|upgrade',
    'run|run-script',
    'test|t|tst|run test',
    'start|run start',
    'stop|run stop',
    'restart|run restart',
    'list|ls|la|ll',
    'link|ln',
    'unlink|dislink',
    'rebuild|rb',
    'install-test|it',
    'config|c',
    'approve-builds|approve-builds',
  ],
  yarn: ['publish|npm publish', 'upgrade|up', 'test|run test', 'start|run start', 'login|npm login', 'tag|npm tag'],
  bun: ['install|i', 'add|a', 'remove|rm|uninstall', 'create|c', 'test|run test'],
  docker: [
    ...'run create start stop restart kill exec attach commit cp diff export logs pause unpause port rename stats top update wait inspect'
      .split(' ')
      .map((verb) => `${verb}|container ${verb}`),
    ...'network volume stack service node secret config plugin context'
      .split(' ')
      .flatMap((kind) => [`${kind} rm|${kind} remove`, `${kind} ls|${kind} list`]),
    'rm|container rm|container remove',
    'ps|container ls|container list|container ps',
    'build|image build|buildx build|buildx b|builder build|buildx bake',
    'images|image ls|image list',
    'rmi|image rm|image remove',
    ...'pull push save load import tag history'.split(' ').map((verb) => `${verb}|image ${verb}`),
    'events|system events',
    'info|system info',
    'stack deploy|stack up',
    'stack rm|stack down',
  ],
  cargo: ['build|b', 'check|c', 'doc|d', 'run|r', 'test|t', 'remove|rm'],
  gh: [
    ...'pr issue repo release gist codespace'
      .split(' ')
      .flatMap((kind) => [`${kind} create|${kind} new`, `${kind} list|${kind} ls`]),
    'pr checkout|co',
    'codespace|cs',
    'extension|ext|extensions',
    'ruleset|rs',
    'attestation|at',
    'secret delete|secret remove',
    'variable delete|variable remove',
  ],
  helm: [
    'uninstall|un|del|delete',
    'list|ls',
    'dependency|dep|dependencies',
    'history|hist',
    'pull|fetch',
    'show|inspect',
    'repo remove|repo rm',
    'repo update|repo up',
    'plugin uninstall|plugin rm|plugin remove',
  ],
  terraform: ['destroy|apply -destroy'],
  tofu: ['destroy|apply -destroy'],
  brew: [
    'uninstall|remove|rm|uninstal',
    'install|instal',
    'list|ls',
    'update|up',
    'link|ln',
    'search|-S',
    'info|abv',
    'doctor|dr',
  ],
  apt: ['autoremove|auto-remove', 'full-upgrade|dist-upgrade', 'autoclean|auto-clean', 'remove --purge|purge'],
  dnf: ['remove|rm|erase', 'install|in|localinstall', 'upgrade|up|update', 'reinstall|rei'],
  composer: ['require|r|req', 'install|i', 'update|u|upgrade', 'remove|rm|uninstall', 'show|info', 'run-script|run'],
  gem: ['install|i'],
  svn: [
    'checkout|co',
    'commit|ci',
    'delete|del|remove|rm',
    'update|up',
    'move|mv|rename|ren',
    'copy|cp',
    'list|ls',
    'status|stat|st',
    'switch|sw',
    'propdel|pdel|pd',
    'propset|pset|ps',
  ],
  hg: ['commit|ci', 'update|up|checkout|co|goto', 'remove|rm', 'move|mv|rename|ren', 'copy|cp', 'status|st'],
  rails: ['generate|g', 'destroy|d', 'console|c', 'server|s', 'test|t', 'runner|r', 'dbconsole|db'],
  ng: ['generate|g', 'serve|s|dev', 'build|b', 'test|t'],
  vercel: ['remove|rm', 'list|ls'],
  rustup: ['update|upgrade|up', 'toolchain uninstall|toolchain remove|uninstall', 'toolchain install|install'],
  deno: ['install|i', 'remove|rm'],
}

/** The same with program names, for programs that are subcommands of another one. */
const programs: readonly string[] = [
  'npx|npm exec',
  'bunx|bun x',
  'pnpx|pnpm dlx',
  'uvx|uv tool run',
  'docker-compose|docker compose',
]

/** Programs that run a script of the project by its name: `yarn build` is `yarn run build`. */
const runsScripts: ReadonlySet<string> = new Set(['yarn', 'pnpm', 'bun'])

type Phrase = readonly string[]

function splitGroup(group: string, program?: string): readonly Phrase[] {
  return group.split('|').map((phrase) => `${program === undefined ? '' : `${program} `}${phrase}`.split(' '))
}

const programGroups = programs.map((group) => splitGroup(group))
const groupsByProgram = new Map<string, readonly (readonly Phrase[])[]>()

function groupsOf(program: string): readonly (readonly Phrase[])[] {
  let groups = groupsByProgram.get(program)
  if (groups === undefined) {
    const own = Object.hasOwn(phrases, program) ? (phrases[program] ?? []) : []
    groups = [
      ...own.map((group) => splitGroup(group, program)),
      ...programGroups.filter((group) => group.some(([name]) => name === program)),
    ]
    groupsByProgram.set(program, groups)
  }
  return groups
}

const maxPhrasings = 80

/** The spellings of a command that begins with these words, the given one first. */
export function phrasingsOf(words: Phrase): readonly Phrase[] {
  const found = new Map([[words.join(' '), words]])
  for (const phrasing of found.values()) {
    for (const other of [...replaced(phrasing), ...scriptsOf(phrasing)]) {
      if (found.size >= maxPhrasings) return [...found.values()]
      const key = other.join(' ')
      if (!found.has(key)) found.set(key, other)
    }
  }
  return [...found.values()]
}

function replaced(words: Phrase): readonly Phrase[] {
  return groupsOf(words[0] ?? '').flatMap((group) => {
    const fitting = group.find((phrase) => phrase.every((word, at) => words[at] === word))
    if (fitting === undefined) return []
    return group.filter((phrase) => phrase !== fitting).map((phrase) => [...phrase, ...words.slice(fitting.length)])
  })
}

function scriptsOf([program = '', first, ...rest]: Phrase): readonly Phrase[] {
  if (!runsScripts.has(program) || first === undefined || /[*-]/.test(first.charAt(0))) return []
  if (first !== 'run') return [[program, 'run', first, ...rest]]
  return rest.length === 0 || rest[0]?.startsWith('*') === true ? [] : [[program, ...rest]]
}

/** Subcommands that never count as an abbreviation of another one. */
const npmCommands =
  'access adduser audit bugs cache ci completion config dedupe deprecate diff dist-tag docs doctor edit exec explain explore find-dupes fund ' +
  'get help help-search init install install-ci-test install-test link ll login logout ls org outdated owner pack ping pkg prefix profile ' +
  'prune publish query rebuild repo restart root run sbom search set shrinkwrap stage star stars start stop team test token undeprecate ' +
  'uninstall unpublish unstar update version view whoami'

const exactByProgram = new Map<string, ReadonlySet<string>>()

export function isExactSubcommand(program: string, word: string): boolean {
  let exact = exactByProgram.get(program)
  if (exact === undefined) {
    const inGroups = groupsOf(program).flatMap((group) => group.flatMap(([, second]) => second ?? []))
    exact = new Set([...inGroups, ...(program === 'npm' ? npmCommands.split(' ') : [])])
    exactByProgram.set(program, exact)
  }
  return exact.has(word)
}

/** Kubernetes resource kinds by all of their names. */
const resources: ReadonlyMap<string, string> = new Map(
  (
    'pod pods po|deployment deployments deploy|service services svc|namespace namespaces ns|node nodes no|persistentvolumeclaim ' +
    'persistentvolumeclaims pvc|persistentvolume persistentvolumes pv|configmap configmaps cm|ingress ingresses ing|statefulset statefulsets ' +
    'sts|daemonset daemonsets ds|replicaset replicasets rs|job jobs|cronjob cronjobs cj|secret secrets|serviceaccount serviceaccounts sa|' +
    'customresourcedefinition customresourcedefinitions crd crds|horizontalpodautoscaler horizontalpodautoscalers hpa|role roles|' +
    'clusterrole clusterroles|rolebinding rolebindings|networkpolicy networkpolicies netpol'
  )
    .split('|')
    .flatMap((group) => {
      const names = group.split(' ')
      return names.map((name) => [name, names[0] ?? name] as const)
    }),
)

/** `pods`, `po` and `pod/x` are `pod`; `deployments.apps` too. */
export function resourceOf(word: string): string {
  const name = word.toLowerCase().split(/[/.]/, 1)[0] ?? ''
  return resources.get(name) ?? word
}
