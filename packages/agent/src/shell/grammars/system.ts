import type { Effect, Given, Grammar } from '../effects.ts'
import { unknown } from '../effects.ts'

const anyText: Grammar = { options: '', operands: ['text'], anything: true }
const onlyVersion: Grammar = { options: '-v -V --version', operands: [] }

/** Commands that tell about the system, or work on text alone. */
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
  uptime: { options: '-psV --pretty --since --version', operands: [] },
  id: {
    options: '-aZgGnruz --context --group --groups --name --real --user --zero --help --version',
    operands: ['text'],
  },
  ps: {
    options:
      '-AadefHjlLmNTwy -C:text -G:text -g:text -o:text -p:text -q:text -s:text -t:text -u:text -U:text --forest --no-headers --headers --sort:text --pid:text --ppid:text --user:text --format:text',
    // `e` without a dash shows the environment of processes.
    operands: ['text'],
    check: ({ operands, options }) =>
      operands.every(({ value }) => /^[auxfwlj]+$/.test(value) || /^\d+$/.test(value)) &&
      !options.some(({ value }) => /env/i.test(value?.value ?? ''))
        ? []
        : unknown('ps may show the environment of processes'),
  },
  date: {
    options:
      '-Ru -I?text -d:text -r:list --date:text --iso-8601?text --rfc-email --rfc-3339:text --reference:list --utc --universal --resolution --debug ' +
      '--help --version',
    refused: '-s --set -f --file',
    operands: ['text'],
    // Without a plus it sets the clock.
    check: ({ operands }) => (operands.every(({ value }) => value.startsWith('+')) ? [] : unknown('it sets the clock')),
  },
  which: { options: '-as', operands: ['text'] },
  type: { options: '-afptP', operands: ['text'] },
  command: {
    options: '-vV',
    operands: ['text'],
    optionsFirst: true,
    check: ({ options }) => (options.length > 0 ? [] : unknown('it runs a command')),
  },
  test: { options: '', operands: ['text'], check: () => [] },
  ...Object.fromEntries(
    [
      'node',
      'npm',
      'yarn',
      'pnpm',
      'python',
      'python3',
      'pip',
      'pip3',
      'ruby',
      'cargo',
      'rustc',
      'tsc',
      'deno',
      'bun',
      'gcc',
      'clang',
      'cmake',
      'docker',
      'kubectl',
    ].map((name) => [name, { ...onlyVersion, options: '--version', check: versionOnly } satisfies Grammar]),
  ),
  go: {
    options: '',
    operands: ['text'],
    check: ({ operands }) =>
      operands.length === 1 && operands[0]?.value === 'version' ? [] : unknown('it runs a tool of Go'),
  },
  java: { options: '--version', operands: [], check: versionOnly },
}

function versionOnly({ options }: Given): readonly Effect[] {
  return options.length === 1 ? [] : unknown('it runs a program')
}

/** `%n` assigns to the variable that its argument names. */
function printfEffects({ operands: [format], options }: Given): readonly Effect[] {
  if (options.length > 0 || format?.kind !== 'literal') return unknown('the format is known only when it runs')
  return assignsByFormat(format.value) ? unknown('%n assigns to a variable') : []
}

/** Backslashes are read before the format is: one that could spell the letter counts too. */
export function assignsByFormat(format: string): boolean {
  return (
    /%[^A-Za-z%]*[hlLjztq]*(?:n|\\)/.test(format.replaceAll('%%', '')) ||
    /\\(?:x25|45|045|u0025|U00000025)/.test(format)
  )
}

function cdEffects({ operands }: Given): readonly Effect[] {
  const [folder] = operands
  if (operands.length > 1 || folder?.value === '-') return unknown('where it goes is known only when it runs')
  return operands.length === 0 ? [{ kind: 'list', word: { source: '~', value: '~', kind: 'literal' } }] : []
}
