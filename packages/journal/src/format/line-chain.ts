// Messages of the main loop are one chain of parents (spec R-JOUR-9), which goes on behind an earlier one where the conversation went back.

/** An entry, and the line in which it stands. */
export interface NotedLine {
  readonly id: string
  readonly uuid: string
}

/** The line that a place names: that of its content, or of the last of its blocks. */
export function lineNamedBy(place: unknown): string | undefined {
  const { message } = place as { readonly message?: string | { readonly content?: unknown } }
  if (typeof message === 'string') return message
  const content = message?.content as
    | { readonly ref?: string; readonly blocks?: readonly { readonly ref: string }[] }
    | undefined
  return content?.ref ?? content?.blocks?.at(-1)?.ref
}

/** The parent of the next message is the one to which the conversation went back. */
export function goBack(
  newest: Map<string, string>,
  lineOf: (id: string) => string | undefined,
  after: string | null,
): void {
  const uuid = after === null ? undefined : lineOf(after)
  if (uuid === undefined) newest.delete('')
  else newest.set('', uuid)
}
