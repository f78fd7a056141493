export interface ProgramBundle {
  readonly files: readonly { readonly path: string; readonly contents: string }[]
  /** Files of the bundle, absolute. */
  readonly inputs: readonly string[]
  /** Sources of each chunk. */
  readonly sourcesOf: Readonly<Record<string, readonly string[]>>
}
export function programBundle(outdir: string): Promise<ProgramBundle>
export function currentProgram(outdir: string): Promise<ProgramBundle>
