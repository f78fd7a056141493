// Files that are shown again after a compaction.

/** @param part the lines that are shown, if not all */
export function fileTitle(
  name: string,
  {
    part,
    hasChanged,
  }: {
    readonly part?: { readonly first: number; readonly last: number; readonly total?: number }
    readonly hasChanged: boolean
  },
): string {
  const total = part?.total === undefined ? '' : ` of ${part.total}`
  const lines = part === undefined ? '' : ` (lines ${part.first} to ${part.last}${total})`
  return `The file ${name}${lines}${hasChanged ? ', changed since you read it' : ''}`
}
export const deletedFile = 'It was deleted after you read it.'
export const emptyFile = 'It is empty.'
export const shortenedFile = (lines: number | undefined): string =>
  `It now has ${lines ?? 'fewer'} line${lines === 1 ? '' : 's'} only.`
