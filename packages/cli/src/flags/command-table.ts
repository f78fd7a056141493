interface CommandRow {
  /** Whether the command accepts the flags of runs, or only its own. */
  readonly takes: 'own flags' | 'flags of runs'
  /** It reads records and starts no run: limits of runs are refused. */
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
  // `mcp/arguments.ts` parses its flags.
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

/** The commands of the program. */
export type Command = keyof typeof rows

/** One row per command. Its help is in `command-help.ts`, which is loaded only for help. */
export const commandTable: { readonly [name in Command]: CommandRow } = rows
