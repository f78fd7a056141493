/** A name for each that no other has: from the second of one name on, with its number among them. Others added beside change nothing. */
export function uniqueNames(names: readonly string[]): readonly string[] {
  const taken = new Set<string>()
  return names.map((base) => {
    let name = base
    for (let number = 2; taken.has(name); number++) name = `${base}#${number}`
    taken.add(name)
    return name
  })
}
