/** A name of its own for each: the second and later of one name get their number among them. Adding other names changes none. */
export function uniqueNames(names: readonly string[]): readonly string[] {
  const taken = new Set<string>()
  return names.map((base) => {
    let name = base
    for (let number = 2; taken.has(name); number++) name = `${base}#${number}`
    taken.add(name)
    return name
  })
}
