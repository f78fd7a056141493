import type { Effect, ParsedArguments, Grammar } from '../effects.ts'
import { unknownEffect } from '../effects.ts'
import {
  formatAssigns,
  formatUnknown,
  mayUseFile,
  runsCommand,
  setsClock,
  targetUnknown,
  testSubscriptRuns,
} from '../shell-texts.ts'

const anyText: Grammar = { options: '', operands: ['text'], anything: true }

/** Commands that show information about the system, or process text only. */
export const system: Readonly<Record<string, Grammar>> = {
  echo: { ...anyText, noOptions: true },
  ':': { ...anyText, noOptions: true },
  true: { ...anyText, noOptions: true },
  false: { ...anyText, noOptions: true },
  printf: { options: '', operands: ['text'], optionsFirst: true, anything: true, check: printfEffects },
  pwd: { options: '-LP', operands: [] },
  cd: { options: '-LP', operands: ['list'], check: cdEffects },
  basename: {
    options: '-az -s:text --multiple --suffix:text --zero --help --version',
    operands: ['text'],
    anything: true,
  },
  dirname: { options: '-z --zero --help --version', operands: ['text'], anything: true },
  seq: { options: '-w -f:text -s:text --format:text --separator:text --equal-width', operands: ['text'] },
  sleep: { options: '', operands: ['text'] },
  whoami: { options: '--help --version', operands: [] },
  uname: {
    options:
      '-asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor ' +
      '--hardware-platform --operating-system --help --version',
    operands: [],
  },
  nproc: { options: '--all --ignore:text --help --version', operands: [] },
  uptime: { options: '-hpsV --help --pretty --since --version', operands: [] },
  id: {
    options: '-aZgGnruz --context --group --groups --name --real --user --zero --help --version',
    operands: ['text'],
  },
  date: {
    options:
      '-Ru -I?text -d:text -r:list --date:text --iso-8601?text --rfc-email --rfc-3339:text --reference:list --utc --universal --resolution --debug ' +
      '--help --version',
    refused: '-s --set -f --file',
    operands: ['text'],
    // Without a leading plus, the operand sets the clock.
    check: ({ operands }) => (operands.every(({ value }) => value.startsWith('+')) ? [] : unknownEffect(setsClock)),
  },
  which: { options: '-as', operands: ['text'] },
  type: { options: '-afptP', operands: ['text'] },
  command: {
    options: '-vV',
    operands: ['text'],
    optionsFirst: true,
    check: ({ options }) => (options.length > 0 ? [] : unknownEffect(runsCommand)),
  },
  test: { options: '', operands: ['text'], check: () => [] },
  // In a non-interactive shell the history is empty. Its options read, write and change files.
  history: {
    options: '',
    operands: ['text'],
    check: ({ operands }) =>
      operands.length < 2 && operands.every(({ kind, value }) => kind === 'literal' && /^\d+$/.test(value))
        ? []
        : unknownEffect(mayUseFile),
  },
  // -x runs a command.
  jobs: { options: '-lnprs', refused: '-x', operands: [] },
  // With a value, these options set the limit.
  ulimit: { options: '-abcdefiklmnpqrstuvxHPRST', operands: [] },
  umask: { options: '-pS', operands: [] },
  read: {
    options: '-rs -d:text -n:number -p:text -t:text',
    refused: '-a -e -i -N -u',
    operands: ['text'],
    check: ({ operands }) =>
      operands.every(({ kind, value }) => kind === 'literal' && /^[A-Za-z_]\w*$/.test(value))
        ? []
        : unknownEffect(testSubscriptRuns),
  },
  pgrep: {
    options:
      '-acfilnovwxA -d:text -g:text -G:text -O:number -P:text -r:text -s:text -t:text -u:text -U:text --delimiter:text ' +
      '--list-name --list-full --inverse --lightweight --count --full --pgroup:text --group:text --ignore-case --newest ' +
      '--oldest --older:number --parent:text --session:text --terminal:text --euid:text --uid:text --exact --runstates:text ' +
      '--ignore-ancestors --cgroup:text --nslist:text --help --version',
    // Refused: matching a variable of a process reveals its value; the other options read a file.
    refused: '--env -F --pidfile -L --logpidfile --ns -h -V',
    operands: ['text'],
  },
  ss: {
    options:
      '-046aeHilmnOopsStTuvwxMdzZ --numeric --all --listening --options --extended --memory --processes --threads --info ' +
      '--summary --tcp --udp --raw --unix --ipv4 --ipv6 --packet --no-header --oneline --tos --cgroup --tipcinfo --context ' +
      '--contexts --mptcp --sctp --dccp --tipc --vsock --xdp --inet-sockopt --help --version',
    // Refused: these options query name servers, run forever, close connections, or write and read files.
    refused:
      '-r --resolve -E --events -K --kill -D --diag -F --filter -N --net -A --query --socket -f --family -b --bpf -h -V',
    operands: [],
  },
  free: {
    options:
      '-bkmghltvwV --bytes --kilo --mega --giga --tera --peta --kibi --mebi --gibi --tebi --pebi --human ' +
      '--si --lohi --total --committed --wide --help --version',
    // Refused: with these options the command runs forever.
    refused: '-s --seconds -c --count',
    operands: [],
  },
  lscpu: {
    options:
      '-abBcJxyhV -C?text -e?text -p?text --all --online --bytes --caches?text --offline --json --extended?text ' +
      '--parse?text --hex --physical --output-all --help --version',
    // Refused: the option reads another folder as the root of the system.
    refused: '-s --sysroot',
    operands: [],
  },
  // Other options query name servers, and an operand sets the name.
  hostname: {
    options: '-sIhV --short --all-ip-addresses --help --version',
    refused: '-b --boot -F --file -a --alias -A --all-fqdns -d --domain -f --fqdn --long -i --ip-address -y --yp --nis',
    operands: [],
  },
  locale: {
    options: '-amckvV --all-locales --charmaps --category-name --keyword-name --verbose --help --usage --version',
    operands: ['text'],
  },
  groups: { options: '--help --version', operands: ['text'] },
  arch: { options: '--help --version', operands: [] },
  tty: { options: '-s --silent --quiet --help --version', operands: [] },
}

/** `%n` assigns to the variable that its argument names. */
function printfEffects({ operands: [format], options }: ParsedArguments): readonly Effect[] {
  if (options.length > 0 || format?.kind !== 'literal') return unknownEffect(formatUnknown)
  return assignsByFormat(format.value) ? unknownEffect(formatAssigns) : []
}

/** Backslashes are resolved before the format, so one that could spell the letter counts too. */
export function assignsByFormat(format: string): boolean {
  return (
    /%[^A-Za-z%]*[hlLjztq]*(?:n|\\)/.test(format.replaceAll('%%', '')) ||
    /\\(?:x25|45|045|u0025|U00000025)/.test(format)
  )
}

function cdEffects({ operands }: ParsedArguments): readonly Effect[] {
  const [folder] = operands
  if (operands.length > 1 || folder?.value === '-') return unknownEffect(targetUnknown)
  return operands.length === 0 ? [{ kind: 'list', word: { source: '~', value: '~', kind: 'literal' } }] : []
}
