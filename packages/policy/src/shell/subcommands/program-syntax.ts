/** How a program reads the words before and between its subcommands. Used for deny and ask rules only. */
export interface ProgramSyntax {
  /** `-C:` takes the next word, `--arg::` the next two words, `-p` none. An option that is not listed may take one word or none. */
  readonly options: string
  /** Whether its options have the same meaning after the subcommand. */
  readonly isGlobal?: true
  /** Whether options have one dash at any length, so that `-rf` is not `-r -f`. */
  readonly singleDash?: true
  /** It does not accept abbreviated options. */
  readonly exactOptions?: true
  /** `NAME=value` sets a variable, like an option. */
  readonly assigns?: true
  /** Operands from this index on are a list without an order (`make clean install`). */
  readonly listFrom?: number
  /** Words that may precede a subcommand without changing it. */
  readonly prefixes?: readonly string[]
  /** The default subcommand. */
  readonly standard?: string
  /**
   * `prefix`: any beginning of a subcommand is accepted, `words`: of each word; `camel`: `pTML` is `publishToMavenLocal`, and `:app:publish` is
   * `publish`.
   */
  readonly abbreviates?: 'prefix' | 'words' | 'camel'
}

const kubernetes =
  '-n: --namespace: --kubeconfig: --context: --kube-context: --cluster: --user: -s: --server: --token: --as: --as-group: --as-uid: ' +
  '--cache-dir: --certificate-authority: --client-certificate: --client-key: --request-timeout: --tls-server-name: --username: ' +
  '--password: --profile: --profile-output: --log-flush-frequency: -v: --v: --vmodule: --kuberc: --insecure-skip-tls-verify ' +
  '--match-server-version --warnings-as-errors --disable-compression'

const make: ProgramSyntax = {
  options:
    '-C: --directory: -f: --file: --makefile: -I: --include-dir: -o: --old-file: --assume-old: -W: --what-if: --new-file: --assume-new: ' +
    '--eval: -E: -B -d -e -i -k -n -q -r -R -s -S -t -w -p -L --always-make --silent --quiet --keep-going --dry-run --just-print --touch ' +
    '--print-directory --no-print-directory',
  assigns: true,
  listFrom: 0,
}
const list: ProgramSyntax = { options: '', listFrom: 0 }
const packages: ProgramSyntax = {
  options:
    '-o: --option: -c: --config-file: -t: --target-release: --default-release: -y -q -qq -s -d -f -m -u -V --yes --assume-yes --quiet ' +
    '--simulate --dry-run --no-install-recommends --fix-broken',
  isGlobal: true,
  listFrom: 1,
}

const syntaxes: Readonly<Record<string, ProgramSyntax>> = {
  git: {
    options:
      '-C: -c: --git-dir: --work-tree: --namespace: --config-env: --super-prefix: --attr-source: --exec-path -p -P --paginate --no-pager ' +
      '--bare --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice --literal-pathspecs --glob-pathspecs ' +
      '--noglob-pathspecs --icase-pathspecs',
  },
  kubectl: { options: kubernetes, isGlobal: true, exactOptions: true },
  oc: { options: kubernetes, isGlobal: true, exactOptions: true },
  helm: {
    exactOptions: true,
    options:
      '-n: --namespace: --kube-context: --kubeconfig: --kube-apiserver: --kube-as-user: --kube-as-group: --kube-ca-file: --kube-token: ' +
      '--kube-tls-server-name: --registry-config: --repository-cache: --repository-config: --burst-limit: --qps: --debug ' +
      '--kube-insecure-skip-tls-verify',
    isGlobal: true,
  },
  docker: {
    exactOptions: true,
    options:
      '-H: --host: -c: --context: --config: -l: --log-level: --tlscacert: --tlscert: --tlskey: -D --debug --tls --tlsverify -v --version',
  },
  podman: {
    exactOptions: true,
    options:
      '-c: --connection: --url: --identity: --log-level: --root: --runroot: --storage-driver: --storage-opt: --cgroup-manager: --conmon: ' +
      '--events-backend: --hooks-dir: --module: --namespace: --network-cmd-path: --network-config-dir: --out: --runtime: --runtime-flag: ' +
      '--ssh: --tmpdir: --volumepath: --imagestore: -r --remote --syslog --noout --transient-store',
  },
  npm: {
    options:
      '--prefix: -C: --registry: -w: --workspace: --userconfig: --globalconfig: --cache: --loglevel: --tag: --otp: --scope: --access: ' +
      '--script-shell: --node-options: --omit: --include: --before: --location: -c: --call: --package: --depth: --https-proxy: --proxy: ' +
      '--cafile: --auth-type: --install-strategy: --git: --fetch-timeout: --fetch-retries: -m: --message: -g --global -D --save-dev ' +
      '-E --save-exact -O --save-optional -P --save-prod -S --save -y --yes -n -s --silent -d -dd -ddd -q --quiet --verbose -f --force ' +
      '-l --long -a --all --json --dry-run --no-audit --no-fund --ignore-scripts --foreground-scripts --if-present --workspaces -ws ' +
      '--include-workspace-root --legacy-peer-deps --no-save --prefer-offline --offline --parseable --no-update-notifier --no-color ' +
      '--no-progress',
    isGlobal: true,
    abbreviates: 'prefix',
  },
  yarn: {
    options:
      '--cwd: --modules-folder: --cache-folder: --registry: --mutex: --use-yarnrc: --network-timeout: --network-concurrency: --proxy: ' +
      '--https-proxy: --preferred-cache-folder: --global-folder: -s --silent --verbose --offline --json --no-progress --non-interactive ' +
      '--frozen-lockfile --ignore-scripts --flat --force',
    standard: 'install',
    prefixes: ['global'],
  },
  pnpm: {
    options:
      '-C: --dir: -F: --filter: --filter-prod: --loglevel: --reporter: --workspace-concurrency: --registry: --store-dir: ' +
      '--virtual-store-dir: -r --recursive -w --workspace-root -s --silent --stream --aggregate-output --parallel --if-present --use-stderr',
    isGlobal: true,
  },
  bun: { exactOptions: true, options: '--cwd: --env-file: --silent' },
  terraform: { options: '-version -help', singleDash: true },
  tofu: { options: '-version -help', singleDash: true },
  vault: { options: '', singleDash: true },
  nomad: { options: '', singleDash: true },
  consul: { options: '', singleDash: true },
  packer: { options: '', singleDash: true },
  go: { options: '-C:', singleDash: true },
  find: { options: '', singleDash: true },
  java: { options: '-cp: -classpath: --class-path: -p: --module-path:', singleDash: true },
  aws: {
    options:
      '--profile: --region: --output: --endpoint-url: --query: --ca-bundle: --cli-read-timeout: --cli-connect-timeout: --color: ' +
      '--cli-binary-format: --debug --no-verify-ssl --no-paginate --no-sign-request --no-cli-pager --cli-auto-prompt --no-cli-auto-prompt',
    isGlobal: true,
  },
  gcloud: {
    options:
      '--project: --account: --configuration: --format: --verbosity: --billing-project: --impersonate-service-account: ' +
      '--access-token-file: --flags-file: --flatten: --trace-token: -q --quiet --log-http',
    isGlobal: true,
    prefixes: ['alpha', 'beta', 'preview'],
  },
  az: {
    options: '--subscription: -o: --output: --query: --debug --only-show-errors --verbose',
    isGlobal: true,
  },
  cargo: {
    exactOptions: true,
    options: '--color: -C: --config: -Z: --explain: -v --verbose -q --quiet --locked --offline --frozen --list',
  },
  gh: { exactOptions: true, options: '-R: --repo: --hostname:', isGlobal: true },
  make,
  ninja: { options: '-C: -f: -j: -k: -l: -t: -d: -w: -v -n --verbose --quiet', listFrom: 0 },
  rake: make,
  just: { ...list, assigns: true },
  task: { ...list, assigns: true },
  ant: { ...list, singleDash: true },
  sbt: list,
  invoke: list,
  gulp: list,
  grunt: list,
  mvn: {
    options:
      '-f: --file: -P: --activate-profiles: -s: --settings: -gs: --global-settings: -t: --toolchains: -T: --threads: -pl: --projects: ' +
      '-rf: --resume-from: -l: --log-file: -b: --builder: -D: --define: -B -q -o -U -X -e -am -amd -N -V -ntp -nsu -fae -ff -fn ' +
      '--batch-mode --offline --quiet',
    singleDash: true,
    listFrom: 0,
  },
  gradle: {
    options:
      '-p: --project-dir: -b: --build-file: -c: --settings-file: -I: --init-script: -g: --gradle-user-home: -x: --exclude-task: ' +
      '--include-build: --console: --max-workers: --priority: --project-cache-dir: -q -i -d -s -S -w -m --offline --daemon --no-daemon ' +
      '--stacktrace --info --debug --quiet --scan --parallel --continue --rerun-tasks --refresh-dependencies --build-cache --no-build-cache',
    listFrom: 0,
    abbreviates: 'camel',
  },
  systemctl: {
    options:
      '-H: --host: -M: --machine: -t: --type: -p: --property: -s: --signal: --kill-who: -o: --output: -n: --lines: --root: --job-mode: ' +
      '--state: --user --system --global -q --quiet -a --all --no-block --no-pager -l --full -f --force --now --no-ask-password',
    isGlobal: true,
    listFrom: 1,
  },
  apt: packages,
  dnf: { ...packages, options: '-c: --config: --repo: --enablerepo: --disablerepo: -x: --exclude: -y -q -v -b -C' },
  brew: { options: '-v -d -q --verbose --debug --quiet', listFrom: 1 },
  pip: {
    options:
      '--python: --log: --proxy: --retries: --timeout: --exists-action: --trusted-host: --cert: --client-cert: --cache-dir: -i: ' +
      '--index-url: --extra-index-url: -q --quiet -v --verbose --isolated --require-virtualenv --disable-pip-version-check --no-input ' +
      '--no-cache-dir --no-color',
    isGlobal: true,
    listFrom: 1,
  },
  poetry: {
    options:
      '-C: --directory: -P: --project: -q --quiet -n --no-interaction -v -vv -vvv --no-ansi --ansi --no-plugins --no-cache',
    isGlobal: true,
  },
  uv: {
    exactOptions: true,
    options:
      '--directory: --project: --config-file: --cache-dir: -p: --python: --color: --python-preference: --allow-insecure-host: -q --quiet ' +
      '-v --verbose -n --no-cache --offline --native-tls --no-config --no-progress',
  },
  bundle: { options: '-r: --retry: -V --verbose --no-color', abbreviates: 'prefix' },
  gem: { options: '--config-file: -V -q --verbose --quiet --silent --debug --norc --backtrace', abbreviates: 'prefix' },
  composer: {
    options:
      '-d: --working-dir: -q -n -v -vv -vvv --quiet --no-interaction --no-plugins --no-scripts --no-cache --profile --ansi --no-ansi',
    isGlobal: true,
    abbreviates: 'prefix',
  },
  dotnet: {
    options: '--additionalprobingpath: --depsfile: --fx-version: --roll-forward: --runtimeconfig: -d --diagnostics',
  },
  nix: {
    options:
      '--option:: --arg:: --argstr:: --override-input:: --override-flake:: --extra-experimental-features: --experimental-features: ' +
      '--log-format: -j: --max-jobs: --cores: --store: --eval-store: -I: --include: -f: --file: --inputs-from: -L --print-build-logs ' +
      '--impure --offline --refresh -v --verbose --quiet --debug',
    isGlobal: true,
  },
  flyctl: {
    exactOptions: true,
    options: '-t: --access-token: -a: --app: -c: --config: --verbose --debug',
    isGlobal: true,
  },
  heroku: { options: '-a: --app: -r: --remote: -t: --team:', isGlobal: true },
  supabase: {
    exactOptions: true,
    options:
      '--workdir: --profile: --network-id: --dns-resolver: -o: --output: --debug --experimental --yes --create-ticket',
    isGlobal: true,
  },
  vercel: {
    options:
      '-A: --local-config: -Q: --global-config: -S: --scope: -t: --token: --cwd: -T: --team: -d --debug --no-color --prod --yes',
    standard: 'deploy',
  },
  pulumi: {
    exactOptions: true,
    options: '-C: --cwd: --color: -v: --verbose: --profiling: --tracing: -s: --stack: -e --emoji --non-interactive',
    isGlobal: true,
  },
  hg: { options: '-R: --repository: --cwd: --config: --encoding: --color: --pager: -y -q -v', abbreviates: 'prefix' },
  svn: {
    options: '--username: --password: --config-dir: --config-option: --non-interactive --no-auth-cache',
    isGlobal: true,
  },
  nmcli: { options: '-c: -f: -m: -e: -w:', abbreviates: 'words' },
  tc: { options: '-n: -netns: -b: -batch:', singleDash: true, abbreviates: 'words' },
  ip: { options: '-n: -netns: -f: -family: -b: -batch:', singleDash: true, abbreviates: 'words' },
  sudo: {
    options:
      '-u: --user: -g: --group: --host: -p: --prompt: -C: --close-from: -D: --chdir: -R: --chroot: -T: --command-timeout: -U: ' +
      '--other-user: -r: --role: -t: --type: -A -b -E -H -n -P -S -k -K -i -s -l -v',
    assigns: true,
  },
  xargs: { options: '-I: -J: -n: -P: -L: -d: -E: -s: -a: -R: -S: -0 -r -t -p -x -i -o' },
  parallel: { options: '-I: -j: -n: -N: -P: -a: -L: -d: -S: -0 -k -X -m --arg-file: --jobs: --colsep: --delay:' },
  doas: { options: '-C: -u: -a: -L -n -s', assigns: true },
  env: { options: '-u: --unset: -C: --chdir: -i -0 -v --ignore-environment --null --debug', assigns: true },
  ...Object.fromEntries('rm rmdir unlink shred kill pkill killall mkdir touch'.split(' ').map((name) => [name, list])),
}

const nothingKnown: ProgramSyntax = { options: '' }

export function syntaxOf(program: string): ProgramSyntax {
  return (Object.hasOwn(syntaxes, program) ? syntaxes[program] : undefined) ?? nothingKnown
}

const valueCounts = new WeakMap<ProgramSyntax, ReadonlyMap<string, number>>()

/** How many words an option takes; undefined if that is unknown. */
export function valuesTaken(syntax: ProgramSyntax, option: string): number | undefined {
  let counts = valueCounts.get(syntax)
  if (counts === undefined) {
    counts = new Map(
      syntax.options
        .split(' ')
        .filter(Boolean)
        .map((token) => [token.replace(/:+$/, ''), /:*$/.exec(token)?.[0].length ?? 0]),
    )
    valueCounts.set(syntax, counts)
  }
  return counts.get(option)
}
