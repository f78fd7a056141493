/** The words behind the name of a command, as a shell parts them: what is in quotes is one. */
export function wordsOf(given: string): readonly string[] {
  return [...given.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double?.replaceAll(/\\(.)/g, '$1') ?? single ?? bare ?? '',
  )
}
