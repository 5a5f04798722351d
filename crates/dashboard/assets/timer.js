// Counts down in the page and in its title. Without this script the page is right at the moment it was made. Times are those of
// the server; the page contains what its clock showed at that moment.
const timer = document.querySelector('.timer')
const left = timer.querySelector('.left')
const until = timer.querySelector('.until')
const gone = timer.querySelector('.gone')
const finish = document.getElementById('finish')
const heading = timer.closest('section').querySelector('h1, h2')
const [starts, ends, now] = ['starts', 'ends', 'now'].map((name) => Date.parse(timer.dataset[name]))
const ahead = Date.now() - now
const site = document.title.split(' · ').pop()
let isOver = Date.now() - ahead >= ends

// A worker wakes the timer, because a hidden page is woken too late to announce the end.
let wake = (delay) => setTimeout(show, delay)
try {
  const clock = new Worker(timer.dataset.clock)
  const plain = wake
  wake = (delay) => clock.postMessage(delay)
  clock.onmessage = () => show()
  clock.onerror = () => {
    wake = plain
    show()
  }
} catch {
  // Without a worker, the page's own timer is used.
}

const two = (number) => String(number).padStart(2, '0')
const written = (seconds) => {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return `${hours ? `${hours}:` : ''}${two(minutes)}:${two(seconds % 60)}`
}

const show = () => {
  const time = Date.now() - ahead
  const seconds = Math.max(0, Math.ceil((ends - time) / 1000))
  left.textContent = written(seconds)
  const percent = Math.min(100, (100 * (time - starts)) / (ends - starts))
  gone.setAttribute('stroke-dasharray', `${percent} 100`)
  if (seconds === 0) return end()
  document.title = `${written(seconds)} · ${timer.dataset.name} · ${site}`
  // Shortly after the next whole second, when the display changes.
  wake(((ends - time) % 1000 || 1000) + 5)
}

const end = () => {
  document.title = `${timer.dataset.over} · ${timer.dataset.name} · ${site}`
  timer.closest('section').classList.add('over')
  if (isOver) return
  isOver = true
  heading.textContent = timer.dataset.over
  until.textContent = until.dataset.since
  finish.classList.remove('secondary')
  document.getElementById('timer-said').textContent = timer.dataset.over
  sound(timer.dataset.sound)
}

// Sounds are made of tones, so that there is no file to load. Each tone: pitch in Hz, start and length in seconds.
const SOUNDS = {
  bell: [[880, 0, 1.6], [1760, 0, 0.9], [880, 0.9, 1.6]],
  chime: [[523, 0, 0.5], [659, 0.25, 0.5], [784, 0.5, 0.9]],
  digital: [[1000, 0, 0.12], [1000, 0.2, 0.12], [1000, 0.4, 0.12]],
}

// Browsers allow sound only after the user has touched this page or the one before.
let audio
const tune = () => {
  audio ??= new AudioContext()
  // Rejected if the user has touched nothing.
  audio.resume().catch(() => {})
}
for (const kind of ['pointerdown', 'keydown']) document.addEventListener(kind, tune, { once: true })

const sound = (name) => {
  if (name === 'none') return
  tune()
  for (const [pitch, begin, length] of SOUNDS[name] ?? SOUNDS.bell) {
    const [tone, volume] = [audio.createOscillator(), audio.createGain()]
    tone.frequency.value = pitch
    volume.gain.setValueAtTime(0.25, audio.currentTime + begin)
    volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + begin + length)
    tone.connect(volume).connect(audio.destination)
    tone.start(audio.currentTime + begin)
    tone.stop(audio.currentTime + begin + length)
  }
  // A sound that could not be played in time must not play when the user comes back an hour later.
  setTimeout(() => audio.state === 'running' || audio.close(), 3_000)
}

show()
