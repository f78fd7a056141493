import { patchedFilesOf, type PatchedFile, patchToolName } from '@halting/policy/files'

export { patchToolName }

/** The change of one file in a call of `apply_patch`, for display. */
export interface PatchFileView {
  readonly path: string
  readonly target: string | undefined
  readonly kind: PatchedFile['kind']
  /** Removed, added and unchanged lines of each hunk, with their signs. */
  readonly hunks: readonly (readonly string[])[]
}

/** The files of a patch; none if the input is not a patch. */
export function patchFileViews(input: unknown): readonly PatchFileView[] {
  return patchedFilesOf(input).map((file) => {
    const { kind, path } = file
    switch (kind) {
      case 'add':
        return { kind, path, target: undefined, hunks: [linesOf(file.content).map((line) => `+${line}`)] }
      case 'delete':
        return { kind, path, target: undefined, hunks: [] }
      case 'update':
        return {
          kind,
          path,
          target: file.moveTo,
          hunks: file.hunks.map(({ lines }) => lines.map(({ sign, text }) => sign + text)),
        }
    }
  })
}

/** The change of a file in a few words: `src/a.ts`, `src/a.ts → src/b.ts`, `old.ts (delete)`. `shorten` shortens a path. */
export function patchFileTitle(
  { path, target, kind }: PatchFileView,
  shorten: (path: string) => string = (each) => each,
): string {
  if (kind === 'delete') return `${shorten(path)} (delete)`
  if (kind === 'add') return `${shorten(path)} (new file)`
  return target === undefined ? shorten(path) : `${shorten(path)} → ${shorten(target)}`
}

/** The lines of hunks before or after the change. */
export function hunkSide(hunks: PatchFileView['hunks'], sign: '-' | '+'): string {
  const other = sign === '-' ? '+' : '-'
  return hunks
    .map((lines) => lines.flatMap((line) => (line.startsWith(other) ? [] : [line.slice(1)])).join('\n'))
    .join('\n')
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}
