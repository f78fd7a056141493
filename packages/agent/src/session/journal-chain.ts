// Messages of the main loop are one chain of parents (spec R-JOUR-9), which goes on behind an earlier one where the conversation went back.

/** Keeps the line that a place names: that of its content, or of the last of its blocks. */
export function noteLine(lines: Map<string, string>, id: string, place: unknown): void {
  const { message } = place as { readonly message?: string | { readonly content?: unknown } }
  if (typeof message === 'string') {
    lines.set(id, message)
    return
  }
  const content = message?.content as
    | { readonly ref?: string; readonly blocks?: readonly { readonly ref: string }[] }
    | undefined
  const uuid = content?.ref ?? content?.blocks?.at(-1)?.ref
  if (uuid !== undefined) lines.set(id, uuid)
}

/** The parent of the next message is the one to which the conversation went back. */
export function goBack(newest: Map<string, string>, lines: ReadonlyMap<string, string>, after: string | null): void {
  const uuid = after === null ? undefined : lines.get(after)
  if (uuid === undefined) newest.delete('')
  else newest.set('', uuid)
}
