/** What a tried command reports when its shell has ended, through a descriptor that the command does not have. */
export interface TrialReport {
  /** Whether it left a running process behind. */
  readonly leftProcesses: boolean
  /** Whether it left shared memory, semaphores or message queues behind. */
  readonly leftObjects: boolean
  /** Whether it tried to use the network. */
  readonly usedNetwork: boolean
}

/**
 * A bash program that runs a command and then writes to a descriptor that the command does not have: the counters of its network namespace, and the
 * number of remaining System V IPC objects and processes.
 */
export function reportingScript(descriptor: number): string {
  return [
    'first=(/proc/[0-9]*)',
    `"$@" ${descriptor}>&-`,
    'code=$?',
    'for each in 1 2 3 4 5; do last=(/proc/[0-9]*); ((${#last[@]} <= ${#first[@]})) && break; sleep 0.02; done',
    // Each file has one header line.
    'objects=0; for each in /proc/sysvipc/*; do mapfile -t lines <"$each"; ((${#lines[@]} > 1)) && objects=1; done',
    `printf '%s\\n' "$(</proc/net/snmp)" "$(</proc/net/snmp6)" "objects $objects" "left $((\${#last[@]} - \${#first[@]}))" >&${descriptor}`,
    'exit $code',
  ].join('\n')
}

/** Counters of failed network accesses. Connections to servers of the command itself succeed. */
const networkAttempts: ReadonlySet<string> = new Set([
  'Ip OutNoRoutes',
  'Tcp AttemptFails',
  'Udp NoPorts',
  'UdpLite NoPorts',
  'Icmp InDestUnreachs',
  'Ip6OutNoRoutes',
  'Udp6NoPorts',
  'UdpLite6NoPorts',
  'Icmp6InDestUnreachs',
])

/** Undefined for an incomplete report, if the command killed the reporting process. */
export function readTrialReport(text: string): TrialReport | undefined {
  const lines = text.split('\n')
  const left = /^left (-?\d+)$/.exec(lines.at(-2) ?? '')?.[1]
  if (left === undefined || !lines.some((line) => line.startsWith('Ip: '))) return undefined
  return {
    leftObjects: !lines.includes('objects 0'),
    leftProcesses: Number(left) > 0,
    usedNetwork: [...countsIn(lines)].some(([name, count]) => networkAttempts.has(name) && count > 0),
  }
}

/** Yields `Ip OutNoRoutes` from a line of names and a line of counts, and `Ip6OutNoRoutes` from a single line. */
function* countsIn(lines: readonly string[]): Generator<readonly [name: string, count: number]> {
  let names: readonly string[] = []
  for (const line of lines) {
    const fields = line.trim().split(/\s+/)
    const [first = '', ...rest] = fields
    if (!first.endsWith(':')) yield [first, Number(rest[0])]
    else if (names[0] !== first) names = fields
    else {
      for (const [index, value] of rest.entries()) yield [`${first.slice(0, -1)} ${names[index + 1]}`, Number(value)]
      names = []
    }
  }
}
