/** What a tried command reports through a descriptor that it does not have itself, when its shell has ended. */
export interface TrialReport {
  /** It left a process behind, which would have gone on. */
  readonly leftProcesses: boolean
  /** It left shared memory, semaphores or message queues behind. */
  readonly leftObjects: boolean
  /** It tried to reach something by network. */
  readonly usedNetwork: boolean
}

/**
 * A program for bash that runs a command and then writes, to a descriptor that the command does not have, what the kernel
 * counted in its network namespace, and how many objects of System V IPC and how many processes are left.
 */
export function reportingScript(descriptor: number): string {
  return [
    'first=(/proc/[0-9]*)',
    `"$@" ${descriptor}>&-`,
    'code=$?',
    'for each in 1 2 3 4 5; do last=(/proc/[0-9]*); ((${#last[@]} <= ${#first[@]})) && break; sleep 0.02; done',
    // Each has one line of headings.
    'objects=0; for each in /proc/sysvipc/*; do mapfile -t lines <"$each"; ((${#lines[@]} > 1)) && objects=1; done',
    `printf '%s\\n' "$(</proc/net/snmp)" "$(</proc/net/snmp6)" "objects $objects" "left $((\${#last[@]} - \${#first[@]}))" >&${descriptor}`,
    'exit $code',
  ].join('\n')
}

/** What the kernel counts when something cannot be reached. Its own servers a command reaches. */
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

/** Undefined where nothing, or not all, was reported: the command ended whoever was to report. */
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

/** `Ip OutNoRoutes` of two lines of names and of counts, `Ip6OutNoRoutes` of a line of its own. */
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
