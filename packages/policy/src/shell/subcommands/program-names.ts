import { nameOf } from '../wrappers.ts'

/** The program that a word names, whatever folder, case, ending and version it is written with. */
export function programName(path: string): string {
  const name = nameOf(path.replaceAll('\\', '/'))
    .toLowerCase()
    .replace(/\.(?:exe|cmd|bat|com)$/, '')
    .replace(/^yarn-[\d.]+\.c?js$/, 'yarn')
    // `npx npm@10`.
    .replace(/(?<=\w)@[\w.^~-]+$/, '')
  return usualNames.get(name) ?? name
}

/** Other names of one program, and files that it is run from. */
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

/** Programs that take the same subcommands and do the same with them. A rule for all of one is not about the other. */
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
