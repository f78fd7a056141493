/**
 * Commands that need approval although the kernel would confine them to the workspace, because they cannot do their job
 * while confined. Commands that simply fail and leave nothing behind, such as a build without a network, are not listed.
 * A phrase is a program, or a program with its subcommand, as in a rule.
 */
const network = {
  transfers: 'curl wget aria2c http https xh httpie ssh scp sftp sshpass mosh autossh ftp lftp rclone',
  sockets: 'nc ncat netcat telnet socat websocat grpcurl',
  'the network itself': 'ping ping6 dig nslookup host whois traceroute tracepath mtr nmap tcpdump',
  forges: 'gh glab hub tea',
  clouds:
    'aws gcloud gsutil bq az doctl flyctl heroku vercel netlify wrangler firebase supabase railway render linode-cli oci ibmcloud sam cdk ' +
    'serverless sls eb amplify',
  clusters: 'kubectl oc helm k9s kubectx kubens argocd flux istioctl skaffold tilt minikube kind k3d eksctl',
  containers: 'docker docker-compose podman podman-compose nerdctl buildah skopeo colima limactl vagrant',
  infrastructure: 'pulumi ansible ansible-playbook ansible-galaxy vault consul nomad packer',
  databases:
    'psql pg_dump pg_restore createdb dropdb mysql mysqldump mongosh mongo redis-cli cqlsh sqlcmd influx clickhouse-client',
  agents: 'claude codex gemini aider ollama llm',
  packages: 'brew twine pipx uvx bunx cpan cpanm ngrok cloudflared',
} as const

const networkPhrases = (): readonly string[] => [
  ...phrases('terraform', 'init plan apply destroy import refresh login logout'),
  ...phrases('tofu', 'init plan apply destroy import refresh login logout'),
  ...phrases(
    'npm',
    'install ci add update uninstall install-test install-ci-test publish unpublish deprecate login logout adduser whoami view search ' +
      'audit outdated dedupe dist-tag owner access token team profile org ping star hook docs bugs repo',
  ),
  ...phrases('pnpm', 'install add update remove dlx create fetch import deploy publish outdated audit install-test'),
  ...phrases('yarn', 'install add upgrade remove dlx create import publish outdated audit info login'),
  ...phrases('bun', 'install add update remove create x publish upgrade outdated pm'),
  ...phrases('deno', 'install add upgrade publish'),
  ...phrases('pip', 'install download wheel uninstall index search'),
  ...phrases('uv', 'add remove sync lock publish pip tool python self'),
  ...phrases('poetry', 'install add update lock remove publish self'),
  ...phrases('pipenv', 'install update sync lock uninstall'),
  ...phrases('pdm', 'install add update lock remove sync publish'),
  ...phrases('conda', 'install create update remove search env'),
  ...phrases('mamba', 'install create update remove search env'),
  ...phrases('cargo', 'add install binstall fetch update publish login search yank owner vendor uninstall'),
  ...phrases('go', 'get install'),
  'go mod download',
  ...phrases('gem', 'install update uninstall push search fetch'),
  ...phrases('bundle', 'install update add outdated'),
  ...phrases('composer', 'install require update remove global create-project'),
  ...phrases('dotnet', 'add tool'),
  'dotnet nuget push',
  ...phrases('nuget', 'install push restore'),
  ...phrases('mvn', 'deploy'),
  ...phrases('gradle', 'publish'),
  ...phrases('pod', 'install update repo trunk'),
  'swift package update',
  'flutter pub',
  ...phrases('dart', 'pub'),
  'mix deps.get',
  'mix deps.update',
  'mix hex.publish',
  ...phrases('cabal', 'update install upload'),
  ...phrases('stack', 'upload upgrade'),
  ...phrases('opam', 'install update upgrade remove'),
  ...phrases('luarocks', 'install upload'),
  ...phrases('vcpkg', 'install'),
  ...phrases('conan', 'install upload download'),
  'composer install',
]

/** Permissions, services, processes, personal settings, system packages: a confined command sees different ones, or none. */
const outside = {
  rights: 'sudo doas su pkexec runuser',
  'packages of the system':
    'apt dnf yum zypper pacman apk snap flatpak port dpkg rpm nix-env nix-channel softwareupdate xcode-select',
  services: 'systemctl service launchctl loginctl journalctl crontab at batch tmux screen zellij initctl rc-service',
  processes: 'pkill killall fuser lsof ss netstat ps pgrep pstree top htop btop pidof nethogs iotop strace gdb lldb',
  machine:
    'mount umount mkfs fdisk parted losetup modprobe insmod rmmod sysctl iptables nft ufw ifconfig useradd userdel usermod groupadd passwd ' +
    'chsh reboot shutdown halt poweroff hostnamectl timedatectl diskutil defaults',
  'keys and settings of the person': 'gpg gpg2 ssh-keygen ssh-add ssh-copy-id ssh-agent pass security secret-tool',
  'tools of the person': 'rustup volta fnm asdf nodenv rbenv sdk corepack n',
} as const

const outsidePhrases = (): readonly string[] => [
  ...phrases('mise', 'install use trust untrust upgrade uninstall settings self-update plugins implode'),
  ...phrases('rtx', 'install use trust upgrade'),
  ...phrases('direnv', 'allow deny permit'),
  ...phrases('pyenv', 'install uninstall global'),
  ...phrases('npm', 'link'),
  ...phrases('pnpm', 'link'),
  'npm config set',
  'npm config delete',
  'yarn config set',
  'pnpm config set',
  'pip config set',
  'go env -w',
  'go env -u',
  ...phrases('code', '--install-extension --uninstall-extension'),
]

function phrases(program: string, subcommands: string): readonly string[] {
  return subcommands.split(' ').map((subcommand) => `${program} ${subcommand}`)
}

function namesIn(groups: Readonly<Record<string, string>>): ReadonlySet<string> {
  return new Set(Object.values(groups).flatMap((names) => names.split(' ')))
}

/** Why a command needs approval. */
export type AskReason = 'network' | 'outside'

/** Programs by their usual names. */
export const programsThatAsk: Readonly<Record<AskReason, ReadonlySet<string>>> = {
  network: namesIn(network),
  outside: namesIn(outside),
}

const phrasesByProgram = new Map<AskReason, ReadonlyMap<string, readonly string[]>>()

/** Programs with a subcommand, by program name. The map is created when a command is first judged, as many runs judge none. */
export function phrasesThatAsk(kind: AskReason): ReadonlyMap<string, readonly string[]> {
  const known = phrasesByProgram.get(kind) ?? byProgram(kind === 'network' ? networkPhrases() : outsidePhrases())
  phrasesByProgram.set(kind, known)
  return known
}

function byProgram(all: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const phrase of new Set(all)) {
    const [program = ''] = phrase.split(' ', 1)
    found.set(program, [...(found.get(program) ?? []), phrase])
  }
  return found
}

/** Programs that change the files in their arguments, and which of their operands are not files. */
export const fileChangers: ReadonlyMap<string, 'all' | 'not the first' | 'the last' | 'of='> = new Map([
  ...'rm rmdir mv cp tee touch truncate install mkdir unlink shred rsync patch'
    .split(' ')
    .map((name) => [name, 'all'] as const),
  ...'chmod chown chgrp sed'.split(' ').map((name) => [name, 'not the first'] as const),
  ['ln', 'the last'],
  ['dd', 'of='],
])

/** Programs that run one of their arguments as a line of shell. */
export const textRunners: ReadonlySet<string> = new Set(
  'eval hyperfine concurrently nodemon watchexec script chronic wireit entr watch env parallel su flock'.split(' '),
)

/** Options whose value is a line of shell. */
export const textOptions: RegExp = /^(?:-[a-z]*c|--command|--call|--run|--exec|--cmd|-x)$/
