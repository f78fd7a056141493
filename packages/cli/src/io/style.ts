/** Functions that colour text, or return it unchanged. */
export interface Style {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
}

/** Colours for a terminal, unless `NO_COLOR` or `TERM=dumb` disables them. */
export function styleFor(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Style {
  const isColoured = isTerminal && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
  const paint = (code: number) => (text: string) =>
    isColoured && text !== '' ? `\u001B[${code}m${text}\u001B[0m` : text
  return { bold: paint(1), dim: paint(2), red: paint(31), green: paint(32), yellow: paint(33) }
}
