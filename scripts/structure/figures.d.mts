import type { Tree } from './tree.d.mts'

interface Layers {
  readonly rooms: number
  readonly floors: number
  readonly upward: number
  readonly order: readonly string[]
}

export function filesAndFolders(tree: Tree): { readonly files: number; readonly folders: number }
export function smallFilesWithOneImporter(tree: Tree, mostLines?: number): readonly string[]
export function layers(tree: Tree, folder: string): Layers
export function sessionBuilders(tree: Tree, wiring: readonly string[]): readonly string[]
export function filesThatReadSessions(
  tree: Tree,
  names: { readonly readers: readonly string[]; readonly models: readonly string[] },
): readonly string[]
export function packagesOf(paths: readonly string[]): readonly string[]
export function tablesOf(tree: Tree, union: string): readonly string[]
export function occurrencesOf(tree: Tree, words: readonly string[]): number
export function largestFile(tree: Tree): { readonly path: string | undefined; readonly lines: number }
export function longFunctions(
  tree: Tree,
  mostLines?: number,
): readonly { readonly name: string; readonly lines: number }[]
export function largestDocument(sizes: ReadonlyMap<string, number>): {
  readonly path: string | undefined
  readonly bytes: number
}
