/**
 * Variables that a trusted project may set though no question named them: they choose what is shown and how long things take.
 * Any other one may make a program run, load, fetch or send something (`PATH`, `NODE_OPTIONS`, `LD_PRELOAD`, a base URL, a
 * proxy, `MAKEFLAGS` …), and no list of those is ever complete.
 */
const harmless: ReadonlySet<string> = new Set([
  'CI',
  'COLUMNS',
  'DEBUG',
  'FORCE_COLOR',
  'LANG',
  'LINES',
  'LOG_LEVEL',
  'NODE_ENV',
  'NO_COLOR',
  'RAILS_ENV',
  'RACK_ENV',
  'APP_ENV',
  'TZ',
  'BASH_DEFAULT_TIMEOUT_MS',
  'BASH_MAX_TIMEOUT_MS',
  'BASH_MAX_OUTPUT_LENGTH',
  'MCP_TIMEOUT',
  'MCP_TOOL_TIMEOUT',
])

/** Whether a variable of a project counts only where a person answered a question that named it. */
export function isDangerousVariable(name: string): boolean {
  return !harmless.has(name)
}
