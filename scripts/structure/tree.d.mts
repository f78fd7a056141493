export interface Tree {
  readonly files: ReadonlyMap<string, unknown>
  readonly entries: ReadonlySet<string>
}

export function treeOf(texts: ReadonlyMap<string, string>, moreEntries?: readonly string[]): Tree
