/** Why the interactive program cannot run here, and what to do instead; undefined if it can (spec R-TERM-8). */
export function missingTerminalReason(
  env: Readonly<Record<string, string | undefined>>,
  { stdin, stdout }: { readonly stdin: { readonly isTTY?: boolean }; readonly stdout: { readonly isTTY?: boolean } },
): string | undefined {
  const instead = 'Use halting -p "PROMPT" instead.'
  if (stdin.isTTY !== true || stdout.isTTY !== true) {
    const which = stdin.isTTY === true ? 'output' : 'input'
    return `The interactive program needs a terminal, but its ${which} is not a terminal. ${instead}`
  }
  if (env['TERM'] === 'dumb') {
    return `The interactive program cannot run in a terminal with TERM=dumb. ${instead}`
  }
  return undefined
}
