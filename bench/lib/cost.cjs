// Loaded before a program: tells at its end, on file descriptor 3, what it cost. CPU is that of all threads.
const { writeSync } = require('node:fs')

process.once('exit', () => {
  const { user, system } = process.cpuUsage()
  const { maxRSS } = process.resourceUsage()
  writeSync(3, JSON.stringify({ cpuMs: (user + system) / 1_000, maxRssMb: maxRSS / 1_024 }))
})
