/** Lines of files that are read together, by their ids: each counts in the first file that holds it. */
export interface SharedLines {
  has(line: string): boolean
  add(line: string): void
}
