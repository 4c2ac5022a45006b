import t from 'tap'
import { pictureOf } from './browser.ts'
import { browser } from './chromium.ts'
import { withFewColours } from './png.ts'

t.test('a picture with few colours stays the same, in fewer bytes', async (t) => {
  const page = await (await browser()).newPage({ viewport: { width: 300, height: 200 } })
  t.teardown(() => page.close())
  await page.setContent(
    '<body style="background: #0d6957"><p style="width: 90px; height: 30px; background: #fafaf9">Sidevault</p>',
  )
  const png = await pictureOf(page)
  const small = withFewColours(png)
  t.ok(small.length < png.length)
  const pixels = (picture: Buffer) =>
    page.evaluate<string>(`new Promise((done) => {
      const image = new Image()
      image.onload = () => {
        const canvas = Object.assign(document.createElement('canvas'), { width: 300, height: 200 })
        const context = canvas.getContext('2d')
        context.drawImage(image, 0, 0)
        done([...context.getImageData(0, 0, 300, 200).data].join())
      }
      image.src = 'data:image/png;base64,${picture.toString('base64')}'
    })`)
  t.ok((await pixels(png)) === (await pixels(small)))
})
