const Home = () => 'Holdfast'

export default Home
