// Adds to package-lock.json the platform packages (binaries for other systems) that a partial mirror of the registry
// does not hold. `npm install` drops them there, and `npm ci` then refuses the lock file. Run it after each install.
import { readFileSync, writeFileSync } from 'node:fs'
import { root } from './packages.mjs'

const systems = 'aix android darwin freebsd linux netbsd openbsd openharmony sunos win32'.split(' ')
const processors = 'arm arm64 ia32 loong64 mips64el ppc64 riscv64 s390x wasm32 x64'.split(' ')

/** The platform that the name of a package such as `@oxlint/binding-linux-x64-musl` names. */
function platformOf(name) {
  const words = name.split(/[/.-]/)
  const libc = words.some((word) => word.startsWith('musl')) ? ['musl'] : words.includes('gnu') ? ['glibc'] : undefined
  return {
    os: systems.filter((system) => words.includes(system)),
    cpu: processors.filter((processor) => words.includes(processor)),
    ...(libc && { libc }),
  }
}

const file = new URL('package-lock.json', root)
const lock = JSON.parse(readFileSync(file, 'utf8'))
const added = []

for (const [path, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const home = `node_modules/${name}`
    if (lock.packages[home] || lock.packages[`${path}/${home}`]) continue
    const { os, cpu, libc } = platformOf(name)
    if (os.length !== 1 || cpu.length !== 1 || !/^\d/.test(version)) {
      console.warn(`left alone: ${name}@${version}, wanted by ${path}`)
      continue
    }
    lock.packages[home] = { version, cpu, ...(dev && { dev }), ...(libc && { libc }), optional: true, os }
    added.push(home)
  }
}

lock.packages = Object.fromEntries(Object.entries(lock.packages).toSorted(([a], [b]) => a.localeCompare(b, 'en')))
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
console.log(`${added.length} platform packages added to package-lock.json`)
