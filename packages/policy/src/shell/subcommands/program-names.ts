import { nameOf } from '../wrappers.ts'

/** The program that a word names, without folder, ending and version, in lower case. */
export function programName(path: string): string {
  const name = nameOf(path.replaceAll('\\', '/'))
    .toLowerCase()
    .replace(/\.(?:exe|cmd|bat|com)$/, '')
    .replace(/^yarn-[\d.]+\.c?js$/, 'yarn')
    // Removes a version: `npx npm@10`.
    .replace(/(?<=\w)@[\w.^~-]+$/, '')
  return usualNames.get(name) ?? name
}

/** Aliases of programs, and files from which they are run. */
const usualNames: ReadonlyMap<string, string> = new Map([
  ['npm-cli.js', 'npm'],
  ['npx-cli.js', 'npx'],
  ['yarn.js', 'yarn'],
  ['yarn.cjs', 'yarn'],
  ['yarnpkg', 'yarn'],
  ['pnpm.js', 'pnpm'],
  ['pnpm.cjs', 'pnpm'],
  ['nodejs', 'node'],
  ['gmake', 'make'],
  ['gsed', 'sed'],
  ['vc', 'vercel'],
  ['fly', 'flyctl'],
  ['inv', 'invoke'],
])

/** Programs with the same subcommands. A rule for a whole program does not apply to the other programs of its family. */
const families: ReadonlyMap<string, string> = new Map([
  ['apt-get', 'apt'],
  ['aptitude', 'apt'],
  ['yum', 'dnf'],
  ['mvnw', 'mvn'],
  ['gradlew', 'gradle'],
  ['hub', 'git'],
])

/** The name under which a program's subcommands are described. */
export function familyOf(program: string): string {
  const plain = program.replace(/^(pip|python|node|ruby|perl|php)[\d.]+$/, '$1')
  return families.get(plain) ?? plain
}
