interface CommandRow {
  /** Whether it takes the flags of runs too, or only its own. */
  readonly takes: 'own flags' | 'flags of runs'
  /** It reads what was recorded and starts no run: limits of runs are refused. */
  readonly readsRecords?: boolean
}

const rows = {
  acp: { takes: 'flags of runs' },
  approve: { takes: 'own flags' },
  budget: { takes: 'flags of runs' },
  check: { takes: 'flags of runs' },
  cluster: { takes: 'flags of runs' },
  completion: { takes: 'own flags' },
  config: { takes: 'flags of runs' },
  context: { takes: 'flags of runs' },
  demo: { takes: 'own flags' },
  deny: { takes: 'own flags' },
  doctor: { takes: 'flags of runs' },
  grade: { takes: 'own flags', readsRecords: true },
  help: { takes: 'own flags' },
  init: { takes: 'own flags' },
  inspect: { takes: 'own flags', readsRecords: true },
  loop: { takes: 'flags of runs' },
  // It has flags of its own, which `mcp/arguments.ts` reads.
  mcp: { takes: 'own flags' },
  memory: { takes: 'flags of runs' },
  models: { takes: 'own flags' },
  permissions: { takes: 'flags of runs' },
  replay: { takes: 'own flags', readsRecords: true },
  report: { takes: 'own flags', readsRecords: true },
  rewind: { takes: 'own flags' },
  serve: { takes: 'flags of runs' },
  sessions: { takes: 'own flags', readsRecords: true },
  setup: { takes: 'flags of runs' },
  trust: { takes: 'own flags' },
  undo: { takes: 'own flags' },
  'what-if': { takes: 'own flags' },
  why: { takes: 'own flags', readsRecords: true },
} as const

/** What the program does beside answering a prompt, each in a word. */
export type Command = keyof typeof rows

/** One row for each command. Its help is in `command-help.ts`, which only help loads. */
export const commandTable: { readonly [name in Command]: CommandRow } = rows
